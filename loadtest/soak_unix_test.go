//go:build unix

package main

import "testing"

// TestAnInterruptedSoakIsAudited presses ctrl-C when orders were accepted, on servers of its own, which are not waited for.
func TestAnInterruptedSoakIsAudited(t *testing.T) {
	t.Parallel()
	document, told := interrupted(t, "accepted ", "soak", "--for=1h", "--rate=100", "--skus=20", "--connections=8", "--private-servers")
	wantStopped(t, "soak", told)
	if !document.AuditOK || len(document.Sections) == 0 || document.Figures[0].Value <= 0 {
		t.Errorf("%v, %+v", document.Wrong, document.Figures)
	}
}
