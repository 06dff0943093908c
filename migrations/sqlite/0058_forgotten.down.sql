-- loses: which buyers are forgotten: their limits begin anew, and orders of theirs that are sent again are taken for new ones
DROP TABLE forgotten;
