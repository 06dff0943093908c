-- Shared by the verbs that grant: put in front of them when they are loaded.
--
-- mint returns a new token, as text: above the last one of the bucket, also when the clock of the server
-- has stepped back, and above those that a server has forgotten, because the time is. With it the tokens
-- after it are given out, as many as are reserved.
local call = redis.call

local function mint(clock, reserved)
  local time = call('TIME')
  local token = #time[2] == 6 and time[1] .. time[2] or time[1] .. string.format('%06d', time[2])
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

