-- The step up sets these counts again.
UPDATE stock_segments SET reserved = 0 WHERE reserved <> 0;
