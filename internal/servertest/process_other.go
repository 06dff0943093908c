//go:build unix && !linux

package servertest

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// setDeathSignal does nothing: only Linux can tie a program to its starter.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}

// processTable lists the processes of the machine with ps.
func processTable() ([]processEntry, error) {
	output, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,state=,lstart=").Output()
	if err != nil {
		return nil, fmt.Errorf("listing processes with ps: %w", err)
	}
	var table []processEntry
	for line := range strings.Lines(string(output)) {
		fields := strings.Fields(line)
		if len(fields) < 4 {
			continue
		}
		pid, pidErr := strconv.Atoi(fields[0])
		parent, parentErr := strconv.Atoi(fields[1])
		if pidErr != nil || parentErr != nil {
			continue
		}
		table = append(table, processEntry{
			pid: pid, parent: parent, state: fields[2][0], started: strings.Join(fields[3:], " "),
		})
	}
	return table, nil
}
