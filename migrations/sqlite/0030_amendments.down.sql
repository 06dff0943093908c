-- What a reservation asked for is what it holds now, for nothing tells of the difference any more. Units stay where they are; a
-- ref that is sent again happens again.
UPDATE deductions SET asked = NULL WHERE status = 'reserved' AND asked IS NOT NULL;
DROP TABLE IF EXISTS amendments;
