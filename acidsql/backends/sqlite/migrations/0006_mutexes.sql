-- Named mutexes of background services. Hive's table, and the end of the lease in milliseconds.
CREATE TABLE AUX_TABLE (
  MT_KEY1 TEXT NOT NULL,
  MT_KEY2 INTEGER NOT NULL,
  MT_COMMENT TEXT NOT NULL,
  MT_EXPIRES INTEGER NOT NULL,
  PRIMARY KEY (MT_KEY1, MT_KEY2)
);
