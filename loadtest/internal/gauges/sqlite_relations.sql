-- How large the tables and indexes of a file are. All its pages are looked at.
-- In: nothing. Out: the name, the table of an index and '' for a table, and the bytes.
SELECT d.name, iif(s.type = 'index', s.tbl_name, ''), d.pgsize
  FROM dbstat d
  JOIN sqlite_schema s ON s.name = d.name
 WHERE d.aggregate = TRUE
 ORDER BY s.tbl_name, s.type = 'index', d.name
