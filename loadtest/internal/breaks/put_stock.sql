-- Adds a row. In: $1 its name, $2 how many units there are. Out: nothing.
INSERT INTO guarded_stock (name, available) VALUES ($1, $2)
