-- Reads a row. In: $1 its name. Out: how many units are left.
SELECT available FROM guarded_stock WHERE name = $1
