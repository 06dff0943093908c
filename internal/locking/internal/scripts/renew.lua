-- renew puts off the expiry of a lock that is still the holder's, and never brings it nearer; or it begins the fixed lease of
-- a part of a MultiLock, which was renewed until its holder had all parts.
--
-- KEYS  1 state
-- ARGV  1 id of the holder, 2 lease in ms, 3 what the call is for:
--         nothing   a hold that is renewed
--         'wait'    the same, while the holder waits for other parts and its fixed lease has not begun
--         'begin'   the fixed lease begins now
--         'join'    another hold of the grant, which a 'begin' that is late must not shorten
-- Returns 1 if it is still held, 0 if it is lost, 2 if the fixed lease has begun, so that a 'wait' changes nothing.
--
-- Running it twice changes things once: the field begun tells a second 'begin', and all that comes after the first.
local call = redis.call
local state, id, lease, purpose = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3]

local held = call('HMGET', state, id, 'begun')
if not held[1] then return 0 end
local begun = held[2]
if begun and purpose == 'wait' then return 2 end
-- First, because a script that has written is given memory.
if purpose == 'begin' and not begun or call('PTTL', state) < lease then call('PEXPIRE', state, lease) end
if not begun and (purpose == 'begin' or purpose == 'join') then call('HSET', state, 'begun', '1') end
return 1
