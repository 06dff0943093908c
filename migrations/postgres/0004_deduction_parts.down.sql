DROP TABLE IF EXISTS deduction_parts;
