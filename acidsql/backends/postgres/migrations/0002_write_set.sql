-- First committer wins: a commit asks for changes that were committed after its transaction opened.
DROP INDEX WRITE_SET_INDEX;
CREATE INDEX WRITE_SET_INDEX ON WRITE_SET (WS_COMMIT_ID);
