-- How the files of a table hold rows. A table without a row here is of ORC files.
CREATE TABLE SDS (
  TBL_ID INTEGER PRIMARY KEY REFERENCES TBLS (TBL_ID) ON DELETE CASCADE,
  STORED_AS TEXT NOT NULL,
  FIELD_DELIM TEXT NOT NULL
);
