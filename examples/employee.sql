-- What does a database table look like on disk, and how can plain files be updated?
-- Each step below says what will happen, runs statements (behind >) and shows what they changed.
--
-- A table is a directory. No file in it is ever changed: a write adds directories with new files.
-- A new directory is marked with a plus, and the numbers in its name say which write made it:
--
--   delta_0000001_0000001_0000
--         |       |       statement inside the transaction, counted from 0
--         |       last write id in it
--         first write id in it
--
-- A write id counts the transactions that wrote to this table. One transaction has one write id.
-- The number called txn counts the transactions of all tables, so it runs ahead of the write ids.
--
-- ---------------------------------------------------------------------------------------------
-- Step 1: CREATE TABLE makes an empty directory. INSERT adds a delta: a directory of new rows.
-- ---------------------------------------------------------------------------------------------

CREATE TABLE employee (id int, name string, salary int);

INSERT INTO employee VALUES (1, 'Jerry', 5000), (2, 'Tom', 8000), (3, 'Kate', 6000);

-- Write id, bucket, statement and row together are the row id: it names one row of the table for
-- ever. A bucket is one file of a directory; this table has a single one.
--
-- ---------------------------------------------------------------------------------------------
-- Step 2: UPDATE deletes Tom's row and inserts a new one. It cannot change the old file, so it
-- adds a delete delta with the row id of Tom's old row, and a delta with his new row.
-- (Spark starts here, which takes some seconds.)
-- ---------------------------------------------------------------------------------------------

UPDATE employee SET salary = 7000 WHERE id = 2;

-- The delete names Tom's old row by its row id: write id 1, bucket 0, statement 0, row 1. A query
-- reads the rows of all deltas, and leaves out those that a delete delta names:

SELECT * FROM employee ORDER BY id;

-- ---------------------------------------------------------------------------------------------
-- Step 3: MERGE brings the rows of another table in: known employees are updated, new ones are
-- inserted. It starts from a fresh copy of the table.
-- ---------------------------------------------------------------------------------------------

DROP TABLE employee;

CREATE TABLE employee (id int, name string, salary int);

INSERT INTO employee VALUES (1, 'Jerry', 5000), (2, 'Tom', 8000), (3, 'Kate', 6000);

CREATE TABLE employee_update (id int, name string, salary int);

INSERT INTO employee_update VALUES (2, 'Tom', 7000), (4, 'Mary', 9000);

-- Now the MERGE. Its two halves count as two statements of one transaction: statement 0000 inserts
-- Mary, statement 0001 updates Tom. Both have write id 2, so they become visible together.

MERGE INTO employee AS t
USING employee_update AS s
ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.name, salary = s.salary
WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name, s.salary);

-- The hidden column row__id shows each row id. Its bucketid packs bucket and statement into one
-- number: 536870912 is bucket 0 of statement 0, 536870913 is bucket 0 of statement 1.

SELECT row__id.writeid, row__id.bucketid, row__id.rowid, id, name, salary
FROM employee ORDER BY id;

-- ---------------------------------------------------------------------------------------------
-- Step 4: A table can be divided into buckets. A hash of acc_id chooses the file of each row. The
-- three accounts here fall into buckets 0 and 2 of three, so two files are written.
-- ---------------------------------------------------------------------------------------------

CREATE TABLE transactions (txn_id int, acc_id int, txn_amount decimal(10,2), txn_date date)
CLUSTERED BY (acc_id) INTO 3 BUCKETS;

INSERT INTO transactions VALUES
  (1, 1002, 120.50, DATE '2026-01-05'),
  (2, 1001, 75.00, DATE '2026-01-06'),
  (3, 1003, 2300.00, DATE '2026-01-07');

SELECT * FROM transactions ORDER BY txn_id;

-- ---------------------------------------------------------------------------------------------
-- Step 5: Many small directories make reading slow. A compaction joins them; rows keep their ids.
-- A minor compaction joins the deltas into one, and the delete deltas into one. It forgets
-- nothing: both rows of Tom are still there, and the delete of the old one.
-- ---------------------------------------------------------------------------------------------

ALTER TABLE employee COMPACT 'minor' AND WAIT;

-- "Ready for cleaning" means that the compaction is done and that its old directories may go.
--
-- A major compaction writes a base: all rows that are not deleted. A reader needs nothing else.

ALTER TABLE employee COMPACT 'major' AND WAIT;

-- The rows are the same as before both compactions:

SELECT * FROM employee ORDER BY id;
