-- Named mutexes of background services. Hive's table, and the end of the lease in milliseconds.
CREATE TABLE AUX_TABLE (
  MT_KEY1 TEXT COLLATE "C" NOT NULL,
  MT_KEY2 BIGINT NOT NULL,
  MT_COMMENT TEXT COLLATE "C" NOT NULL,
  MT_EXPIRES BIGINT NOT NULL,
  PRIMARY KEY (MT_KEY1, MT_KEY2)
);
