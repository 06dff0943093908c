-- The lines stay marked: they are lines, and the schema from before has the mark as well.
SELECT 1;
