-- loses: nothing
DROP INDEX deductions_by_end;
