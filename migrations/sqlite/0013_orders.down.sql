-- The deductions of these orders stay.
DROP TABLE IF EXISTS orders;
