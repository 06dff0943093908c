-- Their deductions stay.
DROP TABLE IF EXISTS orders;
