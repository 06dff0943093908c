-- Room for a new version of some of the rows of a page: most buyers come once. Pages that are there stay as they are.
ALTER TABLE buyers SET (fillfactor = 90);
