-- What Hive ACID tables look like on disk, statement by statement.
--
--   acidsql run --show-layout --warehouse demo examples/employee.sql
--
-- Every write makes new directories, marked with a plus, and touches no old file. The first two
-- numbers in their names are write ids, the table's own count of the transactions that wrote to it;
-- the last one numbers the statement inside its transaction.

-- 1. An INSERT leaves one delta.

CREATE TABLE employee (id int, name string, salary int)
STORED AS ORC
TBLPROPERTIES ('transactional' = 'true');

INSERT INTO employee VALUES (1, 'Jerry', 5000), (2, 'Tom', 8000), (3, 'Kate', 6000);

-- Each row has an identity: the write id, the bucket (packed with codec version and statement id)
-- and the number of the row.

SELECT row__id, id, name, salary FROM employee ORDER BY id;

-- 2. An UPDATE is a delete and an insert under one write id. Tom's new row has a new identity.

UPDATE employee SET salary = 7000 WHERE id = 2;

SELECT row__id, id, name, salary FROM employee ORDER BY id;

-- 3. MERGE, on a fresh copy. Each leg is a statement of its own inside the transaction: Mary is
-- inserted by statement 0000, Tom is updated by statement 0001.

DROP TABLE employee;

CREATE TABLE employee (id int, name string, salary int)
STORED AS ORC
TBLPROPERTIES ('transactional' = 'true');

INSERT INTO employee VALUES (1, 'Jerry', 5000), (2, 'Tom', 8000), (3, 'Kate', 6000);

CREATE TABLE employee_update (id int, name string, salary int)
STORED AS ORC
TBLPROPERTIES ('transactional' = 'true');

INSERT INTO employee_update VALUES (2, 'Tom', 7000), (4, 'Mary', 9000);

MERGE INTO employee AS t
USING employee_update AS s
ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.name, salary = s.salary
WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name, s.salary);

SELECT row__id, id, name, salary FROM employee ORDER BY id;

-- 4. Compaction. A minor one joins the deltas into one, the delete deltas too, and forgets nothing:
-- both rows of Tom are still there. A major one writes a base without the deleted rows; identities
-- stay as they were.
-- Old directories stay until the cleaner finds that no reader can need them.

ALTER TABLE employee COMPACT 'minor' AND WAIT;

SHOW COMPACTIONS;

ALTER TABLE employee COMPACT 'major' AND WAIT;

SELECT row__id, id, name, salary FROM employee ORDER BY id;

-- 5. Buckets. A hash of the account chooses the file; these three accounts need only two of three.

CREATE TABLE transactions (txn_id int, acc_id int, txn_amount decimal(10,2), txn_date date)
CLUSTERED BY (acc_id) INTO 3 BUCKETS
STORED AS ORC
TBLPROPERTIES ('transactional' = 'true');

INSERT INTO transactions VALUES
  (1, 1002, 120.50, DATE '2026-01-05'),
  (2, 1001, 75.00, DATE '2026-01-06'),
  (3, 1003, 2300.00, DATE '2026-01-07');

SELECT row__id, txn_id, acc_id, txn_amount, txn_date FROM transactions ORDER BY txn_id;
