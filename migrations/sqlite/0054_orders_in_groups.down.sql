-- loses: nothing
DROP INDEX deductions_by_group;
