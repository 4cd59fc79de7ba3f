-- SPDX-License-Identifier: MIT OR Apache-2.0
-- What `rkfd trace --summary` counts, asked of the trace: each query answers with the numbers of the line that
-- begins with its name. They also run in ui.perfetto.dev, under "Query (SQL)".

-- launches
SELECT COUNT(*) FROM slice JOIN track ON track.id = track_id
WHERE track.name LIKE 'me1 %' AND slice.name LIKE 'dispatch %';

-- HSA queues
SELECT COUNT(*) FROM slice JOIN args USING (arg_set_id)
WHERE slice.name = 'CREATE_QUEUE' AND key = 'debug.error' AND string_value = '0';

-- memory operations
SELECT SUM(name IN ('ALLOC_MEMORY_OF_GPU', 'FREE_MEMORY_OF_GPU')),
       SUM(name IN ('MAP_MEMORY_TO_GPU', 'UNMAP_MEMORY_FROM_GPU'))
FROM slice;

-- signals
SELECT COUNT(*), SUM(string_value NOT IN ('0', '0x0'))
FROM slice JOIN track ON track.id = track_id
LEFT JOIN args ON args.arg_set_id = slice.arg_set_id AND key = 'debug.event'
WHERE slice.name = 'signal' AND track.name LIKE 'me1 %';

-- doorbells
SELECT SUM(track.name = 'doorbells' AND string_value LIKE 'me1 %'), SUM(track.name LIKE 'thread %')
FROM slice JOIN track ON track.id = track_id
LEFT JOIN args ON args.arg_set_id = slice.arg_set_id AND key = 'debug.queue'
WHERE slice.name = 'doorbell';

-- ioctls
SELECT COUNT(*), SUM(string_value <> '0')
FROM slice JOIN track ON track.id = track_id
LEFT JOIN args ON args.arg_set_id = slice.arg_set_id AND key = 'debug.error'
WHERE track.name LIKE 'thread %' AND dur > 0;

-- scheduler
SELECT SUM(name = 'run_list') + SUM(name = 'packet' AND LENGTH(string_value) - LENGTH(REPLACE(string_value, ',', '')) = 63)
FROM slice LEFT JOIN args ON args.arg_set_id = slice.arg_set_id AND key = 'debug.words';

-- kernel duration
SELECT SUM(ticks) / 100, MIN(ticks) / 100 FROM (
    SELECT MAX(CASE key WHEN 'debug.end_ts' THEN CAST(string_value AS INT) END)
         - MAX(CASE key WHEN 'debug.start_ts' THEN CAST(string_value AS INT) END) AS ticks
    FROM slice JOIN track ON track.id = track_id JOIN args USING (arg_set_id)
    WHERE track.name LIKE 'me1 %' AND slice.name LIKE 'dispatch %' GROUP BY slice.id);
