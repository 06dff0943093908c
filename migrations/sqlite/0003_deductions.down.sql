-- Refused while there are deductions: without them, retries of orders would sell again.
CREATE TEMP TABLE undone (deductions INTEGER CONSTRAINT "there are deductions, which no older schema can hold" CHECK (deductions = 0));
INSERT INTO undone SELECT count(*) FROM deductions;
DROP TABLE undone;
DROP TABLE deductions;
