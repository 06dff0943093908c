package app

import (
	"os"
	"runtime"
)

// writableCode is the code of the warning of files that decide who may call.
const writableCode = "keys_writable"

// checkKeyFiles warns of files that others than their owner may write: whoever does lets anybody in.
func (a *App) checkKeyFiles() {
	var writable []string
	for _, name := range []string{a.config.Access.KeysFile, a.config.Access.Tokens.KeyFile, a.config.TLSCert, a.config.TLSKey} {
		if name != "" && othersWrite(name) {
			writable = append(writable, name)
		}
	}
	if len(writable) == 0 {
		a.warnings.end(writableCode)
		return
	}
	a.warnings.begin(writableCode, "others than their owner may write files of keys or of the certificate, and so decide who is let in: chmod go-w", "files", writable)
}

// othersWrite reports whether others than its owner may write a file. One that is not there has been refused already.
func othersWrite(name string) bool {
	info, err := os.Stat(name)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0
}
