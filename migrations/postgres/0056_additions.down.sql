-- loses: which units were taken again after their reservations had ended: the audit fails for deductions that were cancelled
DROP TABLE additions;
