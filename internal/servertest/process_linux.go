package servertest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// setDeathSignal makes the kernel signal the program when its starter dies.
func setDeathSignal(attributes *syscall.SysProcAttr, sig syscall.Signal) {
	attributes.Pdeathsig = sig
}

// processTable lists the processes of the machine from /proc.
func processTable() ([]processEntry, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("listing processes: /proc is not mounted")
	}
	table := make([]processEntry, 0, len(paths))
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err != nil {
			continue // it ended during the read
		}
		if entry, ok := parseStat(line); ok {
			table = append(table, entry)
		}
	}
	return table, nil
}

// parseStat reads a line of /proc/PID/stat, see proc(5). The second field, the
// program's name, may itself hold spaces and brackets.
func parseStat(line []byte) (processEntry, bool) {
	opening, closing := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if opening < 1 || closing < opening {
		return processEntry{}, false
	}
	rest := bytes.Fields(line[closing+1:]) // from the third field on
	if len(rest) < 20 {
		return processEntry{}, false
	}
	pid, pidErr := strconv.Atoi(string(bytes.TrimSpace(line[:opening])))
	parent, parentErr := strconv.Atoi(string(rest[1]))
	if pidErr != nil || parentErr != nil {
		return processEntry{}, false
	}
	return processEntry{pid: pid, parent: parent, state: rest[0][0], started: string(rest[19])}, true
}
