-- loses: the changes of orders: a change that is sent again would happen twice
ALTER TABLE orders DROP COLUMN ordered_by;
ALTER TABLE deductions DROP COLUMN removed, DROP COLUMN revision;
DROP TABLE order_changes;
