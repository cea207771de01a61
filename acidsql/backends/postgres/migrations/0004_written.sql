-- Whether the commit has said that it leaves a directory there. In rows of earlier
-- releases this is not known: an INSERT of no rows leaves no directory.
ALTER TABLE COMPLETED_TXN_COMPONENTS ADD COLUMN CTC_WRITTEN TEXT NOT NULL DEFAULT 'N';
