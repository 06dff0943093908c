-- fifo_token gives the holder of one side a token above a given number. Other readers keep theirs; later ones get the
-- new one. A writer that reads as well must stay below its own reading hold, so that gets a new token too.
--
-- KEYS  see fifo.lua; there is no tombstone
-- ARGV  1 side ('write', 'read'), 2 id of the holder, 3 the number,
--       4 id of the same owner on the other side ('' for none)
-- Returns the token, and after a space that of the writer as a reader; or 0 if the side is not the holder's.
--
-- Running it twice changes things once: the second run finds a token that is high enough.

local waiter_life -- nobody is dropped

-- include fifo.lua
-- include mint.lua

local side, id, above, other = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

-- raised returns a new token above the number, or the given one if that is high enough.
local function raised(token)
  if tonumber(token) > above then return token end
  local fresh = mint(clock, '0')
  if tonumber(fresh) <= above then
    fresh = digits(above + 1)
    call('SET', clock, fresh, 'EX', '2592000')
  end
  return fresh
end

if side == 'write' then
  local held = call('HMGET', state, id, 'token')
  if not held[1] then return 0 end
  local token = raised(held[2])
  call('HSET', state, 'token', token)
  local phase = call('HGET', tokens, 'token')
  if phase and tonumber(phase) <= tonumber(token) then
    phase = mint(clock, '0')
    call('HSET', tokens, 'token', phase)
  end
  local own = phase and other and call('HGET', tokens, other)
  if not own then return token end
  if tonumber(own) <= tonumber(token) then
    own = phase
    call('HSET', tokens, other, own)
  end
  return token .. ' ' .. own
end
if tonumber(call('ZSCORE', readers, id) or 0) <= now then return 0 end
local token = raised(call('HGET', tokens, id) or '0') -- they may have vanished
call('HSET', tokens, id, token)
if tonumber(token) > tonumber(call('HGET', tokens, 'token') or '0') then call('HSET', tokens, 'token', token) end
if call('PTTL', tokens) < 0 then call('PEXPIRE', tokens, read_until() - now) end
return token
