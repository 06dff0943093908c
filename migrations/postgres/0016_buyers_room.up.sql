-- Each page keeps room for new versions of some of its rows: most buyers come once. Existing pages stay as they are.
ALTER TABLE buyers SET (fillfactor = 90);
