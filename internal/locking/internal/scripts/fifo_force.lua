-- fifo_force takes one side of a lock from whoever holds it, and wakes who may enter then. The holders
-- learn of it with their next renewal.
--
-- KEYS  see fifo.lua; there is no tombstone
-- ARGV  1 side ('write', 'read')
-- Returns 1 when somebody held it, else 0.

-- include fifo.lua

local held
if ARGV[1] == 'write' then
  held = call('DEL', state)
else
  held = read_until() and 1 or 0
  call('UNLINK', readers, counts)
end
wake()
return held
