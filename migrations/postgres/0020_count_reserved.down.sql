-- Up counts all that is reserved in the first segment.
UPDATE stock_segments SET reserved = 0 WHERE reserved <> 0;
