package servertest

import "syscall"

// setDeathSignal makes the kernel signal the program when its starter dies.
func setDeathSignal(attributes *syscall.SysProcAttr, sig syscall.Signal) {
	attributes.Pdeathsig = sig
}
