package servertest

import (
	"os"
	"syscall"
)

// memoryRoom is how many bytes /dev/shm must have free for a server's files. Containers often have 64 MB in all.
const memoryRoom = 4 << 30

// quickFolder returns the folder for a server's files that need not survive the machine: in memory, if there is room.
func quickFolder() string {
	var there syscall.Statfs_t
	if syscall.Statfs(memoryFolder, &there) != nil || there.Bavail*uint64(there.Bsize) < memoryRoom {
		return os.TempDir()
	}
	return memoryFolder
}
