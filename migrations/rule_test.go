package migrations

import (
	"strings"
	"testing"
)

// TestTheRule: package migrations takes no step during which orders would wait, and none without a kind.
func TestTheRule(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"-- adds: a column\nALTER TABLE skus ADD COLUMN IF NOT EXISTS a bigint;":                                                         "",
		"-- adds: a column\nALTER TABLE skus ADD COLUMN IF NOT EXISTS a bigint NOT NULL DEFAULT 0;":                                      "",
		"-- adds: a table\nCREATE TABLE IF NOT EXISTS a (b text);\nCREATE OR REPLACE TRIGGER c AFTER INSERT ON a\nEXECUTE FUNCTION d();": "",
		"-- adds: a constraint\nALTER TABLE skus ADD CONSTRAINT a CHECK (initial > 0) NOT VALID;":                                        "",
		"-- tightens: a constraint\nALTER TABLE skus VALIDATE CONSTRAINT a;":                                                             "",
		"-- indexes: SKUs\nCREATE INDEX CONCURRENTLY a ON skus (name);":                                                                  "",
		"-- loses: the names\nALTER TABLE skus DROP COLUMN name;":                                                                        "",
		"-- adds: a column that each row computes\nALTER TABLE skus ADD COLUMN IF NOT EXISTS a uuid NOT NULL DEFAULT gen_random_uuid();": "must not have",
		"-- adds: a column that may not be there\nALTER TABLE skus ADD COLUMN IF NOT EXISTS a bigint NOT NULL;":                          "must not have",
		"-- adds: a key\nALTER TABLE skus ADD COLUMN IF NOT EXISTS a text REFERENCES skus (sku_id);":                                     "must not have",
		"-- adds: a constraint that reads all rows\nALTER TABLE skus ADD CONSTRAINT a CHECK (initial > 0);":                              "must not have",
		"-- adds: a column with another type\nALTER TABLE skus ALTER COLUMN name TYPE varchar;":                                          "must not have",
		"-- adds: an index\nCREATE INDEX a ON skus (name);":                                                                              "must not have",
		"-- adds: and fills\nUPDATE skus SET kept = 0;":                                                                                  "must not have",
		"-- indexes: and stops writers\nCREATE INDEX a ON skus (name);":                                                                  "must not have",
		"-- indexes: two\nCREATE INDEX CONCURRENTLY a ON skus (name);\nCREATE INDEX CONCURRENTLY b ON skus (kept);":                      "one statement",
		"-- fills: all rows at once\nUPDATE skus SET kept = 0;":                                                                          "must not have",
		"-- tightens: and adds\nALTER TABLE skus ALTER COLUMN name SET NOT NULL;":                                                        "must not have",
		"ALTER TABLE skus ADD COLUMN IF NOT EXISTS a bigint;":                                                                            "first line",
		"-- changes: something\nUPDATE skus SET kept = 0;":                                                                               "first line",
	} {
		c, err := parse(text)
		if err == nil {
			err = c.check()
		}
		if got := ""; err != nil {
			got = err.Error()
			if want == "" || !strings.Contains(got, want) {
				t.Errorf("%s: %v, want %q", text, err, want)
			}
		} else if want != "" {
			t.Errorf("%s: it is taken, want %q", text, want)
		}
	}
}
