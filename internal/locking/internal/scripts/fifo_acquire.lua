-- fifo_acquire takes one side of a lock, or queues for it.
--
-- KEYS  see fifo.lua
-- ARGV  1 process, 2 attempt (grows with every attempt of the process), 3 side ('write', 'read'),
--       4 id of the holder, 5 lease in ms, 6 count to hold afterwards,
--       7 token of the grant that is re-entered (0 for any, '' for none), 8 ticket of the waiter ('' for none),
--       9 queue action ('n' do not queue, 'q' queue if busy, or show that we still wait),
--       10 id of the same owner on the other side ('' for none),
--       11 life of a waiter without a heartbeat, in ms, 12 how often heartbeats are sent, in ms
-- Returns the token, or {code, ms until it makes sense to look again if nobody wakes us}
--   code  1 busy   2 the grant to re-enter is gone   3 this attempt is cancelled or outdated
--         4 the owner reads and wants to write: it would wait for itself
--
-- Running it twice changes things once: the second run finds the holder in the state, and counts are absolute.

local waiter_life = tonumber(ARGV[11])

-- include fifo.lua
-- include mint.lua

local process, attempt = ARGV[1], ARGV[2]
local side, id, lease, count, token = ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6], ARGV[7]
local waiter, action, other = process .. ':' .. ARGV[8], ARGV[9], ARGV[10]
local poll = tonumber(ARGV[12])
local never = 60000

local function write()
  local fresh = mint(clock, '0')
  call('HSET', state, id, count, 'seq', attempt, 'token', fresh)
  call('PEXPIRE', state, lease)
  return 0, 0, fresh
end

-- read puts the owner among the readers, of whom the last one leaves at the given time. The first one begins a phase,
-- and all later ones get its token.
local function read(last, expiry, theirs)
  local phase = last and call('HGET', counts, 'token') or mint(clock, '0')
  call('ZADD', readers, expiry, id)
  call('HSET', counts, id, count .. ' ' .. attempt .. ' ' .. (theirs or phase), 'token', phase)
  local life = math.max(last or 0, expiry) - now
  call('PEXPIRE', readers, life)
  call('PEXPIRE', counts, life)
  return 0, 0, theirs or phase
end

-- again returns what prevents a re-entry: another token under the same id, which a late copy has taken, or a later
-- attempt.
local function again(seq, theirs)
  if token ~= '' and token ~= '0' and token ~= theirs then return 2 end
  if tonumber(attempt) < tonumber(seq) then return 3 end
end

local function rewrite(held)
  local code = again(held[1], held[2])
  if code then return code, 0 end
  call('HSET', state, id, count, 'seq', attempt)
  if call('PTTL', state) < lease then call('PEXPIRE', state, lease) end
  return 0, 0, held[2]
end

local function reread(record, expiry, last)
  local seq, theirs = string.match(record, ' (.*) (.*)')
  local code = again(seq, theirs)
  if code then return code, 0 end
  return read(last, math.max(expiry, now + lease), theirs)
end

-- ahead returns a waiter that must enter before us, if there is one.
local function ahead()
  local writer = call('ZRANGE', writing, 0, 0, 'WITHSCORES')
  if side == 'read' then
    local mine = call('ZSCORE', reading, waiter)
    if writer[2] and (not mine or tonumber(writer[2]) < tonumber(mine)) then return writer[1] end
    return nil
  end
  local reader = call('ZRANGEBYSCORE', reading, '-inf', before(writer), 'LIMIT', 0, 1)[1]
  if reader then return reader end
  if writer[1] ~= waiter then return writer[1] end
end

-- enqueue queues the waiter, or shows that it still waits. A newcomer goes behind everybody, also when the
-- clock has stepped back.
local function enqueue()
  local queue = side == 'read' and reading or writing
  local queued = call('ZSCORE', queue, waiter)
  if not queued then
    local score = micros
    for _, each in ipairs({writing, reading}) do
      local last = call('ZREVRANGE', each, 0, 0, 'WITHSCORES')[2]
      if last and tonumber(last) >= score then score = tonumber(last) + 1 end
    end
    call('ZADD', queue, digits(score), waiter)
  end
  call('ZADD', beats, now + waiter_life, waiter)
  if not queued then
    call('PEXPIRE', queue, queue_life)
    call('PEXPIRE', beats, queue_life)
    grace_until() -- not only from the next heartbeat on
  end
end

-- busy returns what to answer while somebody holds the lock for some more ms. Only the next in turn needs to look when
-- that is over.
local function busy(left)
  if action == 'q' then enqueue() end
  if left < poll and ahead() then left = never end
  return 1, left
end

-- reserved returns what to answer while the lock is free for a waiter ahead of us, which comes now or dies. If it is
-- dead, the lock may be ours.
local dropped = false
local function reserved(first)
  if action == 'q' then enqueue() end
  local dead, deadline = suspect(first)
  local from = now
  if dead then
    dropped, from = drop_dead()
    if dropped then
      first = ahead()
      if not first then return end
      deadline = tonumber(call('ZSCORE', beats, first) or 0)
    end
  end
  return 1, math.max(deadline, from) - now
end

-- take returns a code, when to look again and the token.
local function take()
  local held = call('HMGET', state, 'seq', 'token', side == 'write' and id or other)
  local reader = side == 'read' and id or other
  if held[2] and not held[3] and token == '' then return busy(call('PTTL', state)) end
  if side == 'write' and held[3] then return rewrite(held) end
  local last = read_until()
  local expiry = last and tonumber(call('ZSCORE', readers, reader) or 0) or 0
  local record = expiry > now and call('HGET', counts, reader)
  if side == 'read' and record then return reread(record, expiry, last) end
  if token ~= '' then return 2, 0 end
  if side == 'read' and held[3] then return read(last, now + lease) end
  if record then return 4, 0 end

  if side == 'write' and last then return busy(last - now) end
  local first = ahead()
  if first then
    local code, pause = reserved(first)
    if code then return code, pause end
  end
  if side == 'read' then return read(last, now + lease) end
  return write()
end

-- leave takes a waiter that has got the lock out of its queue. If more readers wait than are woken at once, each that
-- leaves wakes one more.
local function leave()
  if call('ZREM', beats, waiter) == 0 then return end
  if side == 'write' then
    call('ZREM', writing, waiter)
    return
  end
  call('ZREM', reading, waiter)
  local writer = call('ZRANGE', writing, 0, 0, 'WITHSCORES')
  local next_one = call('ZRANGEBYSCORE', reading, '-inf', before(writer), 'LIMIT', some - 1, 1)[1]
  if next_one then notify(next_one) end
end

if call('EXISTS', tombstone, state, readers, writing, reading) == 0 then -- free, and nobody waits
  if token ~= '' then return {2, 0} end
  local _, _, fresh = (side == 'read' and read or write)(nil, now + lease)
  return fresh
end
if call('EXISTS', tombstone) == 1 then return {3, 0} end
local code, pause, fresh = take()
if code == 0 then leave() end
if dropped then wake() end
return code == 0 and fresh or {code, pause}
