-- Whether the commit has said that it leaves a directory there. Of what earlier releases recorded,
-- and record, nobody knows it: an INSERT of no rows leaves none.
ALTER TABLE COMPLETED_TXN_COMPONENTS ADD COLUMN CTC_WRITTEN TEXT NOT NULL DEFAULT 'N';
