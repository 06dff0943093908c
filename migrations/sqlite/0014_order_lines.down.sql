DROP TABLE IF EXISTS order_lines;
