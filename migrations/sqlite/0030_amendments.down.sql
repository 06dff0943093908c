-- What a reservation asked for becomes what it holds now, because nothing records the difference any more. Units stay where
-- they are; a ref that is sent again is carried out again.
UPDATE deductions SET asked = NULL WHERE status = 'reserved' AND asked IS NOT NULL;
DROP TABLE IF EXISTS amendments;
