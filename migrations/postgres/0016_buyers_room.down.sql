ALTER TABLE buyers SET (fillfactor = 50);
