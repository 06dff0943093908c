-- loses: nothing
DROP INDEX skus_being_counted;
