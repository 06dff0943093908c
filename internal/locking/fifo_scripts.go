package locking

import _ "embed" // the scripts

var (
	//go:embed fifo.lua
	fifoSource string
	//go:embed fifo_acquire.lua
	fifoAcquireSource string
	//go:embed fifo_heartbeat.lua
	fifoHeartbeatSource string
	//go:embed fifo_release.lua
	fifoReleaseSource string
	//go:embed fifo_renew.lua
	fifoRenewSource string
	//go:embed fifo_token.lua
	fifoTokenSource string
	//go:embed fifo_inspect.lua
	fifoInspectSource string
	//go:embed fifo_force.lua
	fifoForceSource string

	fifoAcquireScript   = newScript(mintSource + fifoSource + fifoAcquireSource)
	fifoHeartbeatScript = newScript(fifoSource + fifoHeartbeatSource)
	fifoReleaseScript   = newScript(fifoSource + fifoReleaseSource)
	fifoRenewScript     = newScript(fifoRenewSource)
	fifoTokenScript     = newScript(mintSource + fifoSource + fifoTokenSource)
	fifoInspectScript   = newScript(fifoSource + fifoInspectSource)
	fifoForceScript     = newScript(fifoSource + fifoForceSource)
)

// What fifo_acquire.lua answers beyond acquire.lua's codes.
const codeUpgrade = 4 // the owner reads, and wants to write
