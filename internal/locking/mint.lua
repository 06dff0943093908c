-- Shared by the verbs that grant: put in front of them when they are loaded.
--
-- mint returns a new token, as text: above the last one of the bucket, also when the clock of the server
-- has stepped back, and above those that a server has forgotten, because the time is. With it the tokens
-- after it are given out, as many as are reserved.
local call = redis.call
local process, attempt = ARGV[1], ARGV[2]

local function mint(clock, reserved)
  local time = call('TIME')
  local token = string.format('%.0f', time[1] * 1000000 + time[2])
  local last = call('SET', clock, token, 'EX', '2592000', 'GET')
  if last and (#last ~= #token or last >= token) and tonumber(last) >= tonumber(token) then
    token = string.format('%.0f', tonumber(last) + 1)
    call('SET', clock, token, 'EX', '2592000')
  end
  if reserved ~= '0' then
    call('SET', clock, string.format('%.0f', tonumber(token) + tonumber(reserved)), 'EX', '2592000')
  end
  return token
end

-- stand queues the process. A newcomer goes behind everybody, also when the clock has stepped back.
local function stand(queue)
  if not call('ZSCORE', queue, process) then
    local time = call('TIME')
    local score = time[1] * 1000000 + time[2]
    local last = call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2]
    if last and tonumber(last) >= score then score = tonumber(last) + 1 end
    call('ZADD', queue, string.format('%.0f', score), process)
  end
  call('PEXPIRE', queue, 60000)
end

