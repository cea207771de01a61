-- A view is a row of TBLS that has both of its texts and, as its location, ''.
ALTER TABLE TBLS ADD COLUMN VIEW_ORIGINAL_TEXT TEXT;
ALTER TABLE TBLS ADD COLUMN VIEW_EXPANDED_TEXT TEXT;
