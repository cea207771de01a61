-- First committer wins: who commits asks for what was committed after its transaction had opened.
DROP INDEX WRITE_SET_INDEX;
CREATE INDEX WRITE_SET_INDEX ON WRITE_SET (WS_COMMIT_ID);
