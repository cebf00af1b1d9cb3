BEGIN TRANSACTION;
CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
INSERT INTO "_sqlx_migrations" VALUES(20261121000001,'runs','2026-11-28 14:27:54',1,X'6FE655EB7C264989349BCF52A40F7A72C773A6B9E6FFA9E648C03B5B9AA0D59A05E71C27A8B5D241D8373013383D122C',231916);
INSERT INTO "_sqlx_migrations" VALUES(20261121000002,'grades','2026-11-28 14:27:54',1,X'07303B830B761A2B636001057EB6BD696EEA6F25A7FF6F921611F80F92C5B2A0AA3A6DAB39ED1FB03A0F11B1E56BA601',350854);
INSERT INTO "_sqlx_migrations" VALUES(20261121000003,'bodies','2026-11-28 14:27:54',1,X'A3C5676419B6A655C039ECC8D0C9455DF57C7EE5D8634FE59DED3D81FB191527012438B6B37E00CDCDB34D22FC489CBF',147991);
INSERT INTO "_sqlx_migrations" VALUES(20261121000004,'idempotency','2026-11-28 14:27:54',1,X'E767ECB9C493AB15A5C5841904C352337A9E6705954674A217510766B2BBA949170E394306EC22A56D812E29F15FFCB2',138577);
INSERT INTO "_sqlx_migrations" VALUES(20261121000005,'spool progress','2026-11-28 14:27:54',1,X'E811B3FF342D62487E10DB0E980CD62F1CBD4C3221EC227C3FAD4B874B21484829476F14F92104D2562B484B8438AFDE',93610);
INSERT INTO "_sqlx_migrations" VALUES(20261121000006,'appeals','2026-11-28 14:27:54',1,X'199A99FAA8D6587A02F99B5B704761D4FDF98A8718B0E77E1C171C8E33197CCAF4D56CA445FD458A64380424DD642E11',1271237);
INSERT INTO "_sqlx_migrations" VALUES(20261121000007,'channels','2026-11-28 14:27:54',1,X'BB59DCE586D460F7B8851BC8ED4FBF44478D2EFB1C80979373B6DF111BAE7DE3EF89DE0BAFAF260DA00AEC8B0C4408EA',455170);
INSERT INTO "_sqlx_migrations" VALUES(20261121000008,'prompt history','2026-11-28 14:27:54',1,X'34E9313CC7DD49706D15221FB0DEA1E47BD0011F09AF9C1680E245B745310F0109DF64336A351A9DFB9B6E587436DB9C',164596);
INSERT INTO "_sqlx_migrations" VALUES(20261121000009,'pairs','2026-11-28 14:27:54',1,X'A62CF649BA752A5C6216EB25222B93080047F3C4C2B911C2FAAF6DEA8B933054721F8CAE7DB518FB5DF5590B1A2F69A6',256002);
INSERT INTO "_sqlx_migrations" VALUES(20261122034500,'charts','2026-11-28 14:27:54',1,X'9E490A7FD828BB6DF430043049D9FA41863F16053B3D20CB2E706DC0E02307ADD81F1F8ED63815084D8F22BF6A298DAF',330634);
INSERT INTO "_sqlx_migrations" VALUES(20261122050000,'facets','2026-11-28 14:27:54',1,X'E7E13F5F4B6921B1D355D039070B74BE14C22435173398F202FF54862309306DEA0305978045143CBABA8BD9BA5E083E',487748);
INSERT INTO "_sqlx_migrations" VALUES(20261122080000,'scores','2026-11-28 14:27:54',1,X'1C034143E9F114672329A51BAA669316E59075A3D831781DC4ED5E96AE58D4A8EBA0970DAAB175C27112BE22CA39B1B0',2505309);
INSERT INTO "_sqlx_migrations" VALUES(20261122120000,'dataset checks','2026-11-28 14:27:54',1,X'808E2CB479A45820214388855541DDDE7C22648DC003AC8A40E2775265DEB8774FEE4B439BC1B0ED386E624BB049415C',148923);
INSERT INTO "_sqlx_migrations" VALUES(20261126150000,'keys','2026-11-28 14:27:54',1,X'F17342720A879F1FAD99C76847829E3745D7AA0B3C7DE8D7A906548A88C09BB3A57E5C4CE5D71DDE138B7075887CC851',269672);
INSERT INTO "_sqlx_migrations" VALUES(20261126160001,'retention','2026-11-28 14:27:54',1,X'4E01F5365CCF162A2450138752D29012EECE46EA59D1A45E2D27ADC7AC9FF6997BDF07E6E2F23B00B1C4B076513382C4',2371038);
INSERT INTO "_sqlx_migrations" VALUES(20261126170000,'caller holdings','2026-11-28 14:27:54',1,X'DC83919C3C9B8F65BEC388CD005F23A2372CC6F7BC6503DF5DFBDE49E67652B9826029D5E10B60DD1B8D7F66F835405C',277013);
INSERT INTO "_sqlx_migrations" VALUES(20261126190000,'sweep','2026-11-28 14:27:54',1,X'3B0177308D7573BE985B2A5FD41E9C0C6C3B6D405A71AD6B0FC669147D470CB02D2E4B2D645B672C7CC691344862F202',5439667);
INSERT INTO "_sqlx_migrations" VALUES(20261126200000,'permanent holdings','2026-11-28 14:27:54',1,X'4AD5A6E1269A7184468C618611F235C4A1BFE2F6A6356489D742E9527329682CE67AF24924EAC2BA225DBF049AE31F44',172968);
INSERT INTO "_sqlx_migrations" VALUES(20261128033000,'names','2026-11-28 14:27:54',1,X'D09F1C11D257E3737D422044F85EB6A37FFCAA7B90213877E5244574AB793232F4BCAA60B11741756DA4E73677CB8F24',3704358);
INSERT INTO "_sqlx_migrations" VALUES(20261128200000,'batch numbers','2026-11-28 14:27:54',1,X'AB9F6C216DDAAC1535B6DFF92A870744CDB758D7A416A1A3205351BDA7AE011F5F3F683DCEC690C6B2410B770CE2BF11',199798);
CREATE TABLE access (
    no       integer primary key check (no = 1), -- always 1
    secret   blob    not null,             -- random, 32 bytes
    version  integer not null              -- changes with every change of a key but its use
) strict;
INSERT INTO "access" VALUES(1,X'A0517CD636CF11EE5D5A4638EA79502338009ECAF2EA595128D5AE6DC2870E01',0);
CREATE TABLE adjudications (
    id            blob    not null primary key,  -- ULID, 16 bytes big-endian
    grade         blob    not null,          -- id of the grade, 16 bytes big-endian
    channel       text    not null,          -- its channel
    version       integer not null,          -- version of its grader
    graded_pass   integer not null,          -- 1 if the grader passed it
    pass          integer not null,          -- 1 if the answer is correct
    weight        real,                      -- weight of a random draw; null if chosen
    corrects      integer,                   -- `pass` of the counted one it replaces, or null
    corrects_us   integer,                   -- `time_us` of the first counted one, or null
    judge         text,                      -- judge that had checked the item
    judged_pass   integer,                   -- 1 if that judge passed it
    caller        text    not null,          -- name of the operator's key
    note          text,                      -- reason
    time_us       integer not null           -- when, Unix time in microseconds
) strict, without rowid;
CREATE TABLE audit (
    no       integer primary key autoincrement, -- number of the entry, in order
    time_us  integer not null,             -- when, Unix time in microseconds
    caller   text    not null,             -- name of the key
    role     text,                         -- its role; null without one
    action   text    not null,             -- what was done, such as `key.create`
    target   text    not null,             -- to what, such as the name of a key
    details  text    not null              -- a JSON object
) strict;
CREATE TABLE batch_numbers (
    first    integer not null              -- number of the first such batch
) strict;
INSERT INTO "batch_numbers" VALUES(1);
CREATE TABLE batches (
    no           integer primary key,      -- number of the batch, in order of arrival
    id           blob    not null unique,  -- ULID, 16 bytes big-endian, so that ids sort by time
    run          integer not null,         -- `runs.no`, 0 without a run
    step         integer,                  -- step of the run, as sent
    caller       text    not null,         -- name of the key that sent it
    items        integer not null,         -- items in the whole batch
    received_us  integer not null,         -- when it was received, Unix time in microseconds
    first_us     integer not null,         -- earliest time of its grades, for lists by time
    last_us      integer not null          -- latest time of its grades
,
    grades integer,
    grade_bytes integer,
    pack_bytes integer,
    checksum integer,
    deleted integer not null default 0) strict;
INSERT INTO "batches" VALUES(1,X'01A2228E35FCDB3412FE21A620000000',1,1,'local',4,1795876075004372,1795876075005636,1795876075005679,4,2453,111,2711659545314515807,0);
INSERT INTO "batches" VALUES(2,X'01A2228E36009A0478A58FCE1C000000',1,2,'local',1,1795876075008908,1795876075012924,1795876075012924,1,377,389,-3946686684310207568,0);
CREATE TABLE bodies (
    hash   blob    not null primary key,   -- BLAKE3 of the content, 32 bytes
    kind   integer not null,               -- 0: text, 1: messages, 2: task
    pack   integer not null,               -- `packs.no`
    start  integer not null,               -- first byte within the unpacked pack
    size   integer not null                -- bytes
) strict, without rowid;
INSERT INTO "bodies" VALUES(X'110C7DA2730669A80AA4450050596957153F0C79D14D44049BDC462882DF51D8',0,2,32,14);
INSERT INTO "bodies" VALUES(X'5963F72E51A920A41A86DF816DD7C9495A31DCFAE63E4EB759575D5861B09D9E',0,2,11,10);
INSERT INTO "bodies" VALUES(X'5F67B81E1DF1BC3E189DAF6E5CCE60BC0C6EEE826A6EF84D6E4B223887B72B46',0,2,21,11);
INSERT INTO "bodies" VALUES(X'C1B7665BE0B200D86B09764C177B664BE53E3287F53D7B4CF0379099F7716FB2',0,2,0,11);
INSERT INTO "bodies" VALUES(X'C32B874987C79A77366FE4DC21D70758E8F040AE9F475093B233075F006B304A',2,4,0,676);
INSERT INTO "bodies" VALUES(X'D23BAC84055E95FB7A63BF9202FFA2540F98EF6B2975F78EA5BA74753A9D65CA',0,5,0,76);
INSERT INTO "bodies" VALUES(X'E7756F221B224514460FFCAF759C9EBB6F4C11A8EFE9C63B38C83546A6A5CBA2',2,1,0,30);
INSERT INTO "bodies" VALUES(X'EE35DD2F57D0A76FDAE9D8307C36EE9603449B3415112B3096230897D0D505BA',2,1,30,34);
INSERT INTO "bodies" VALUES(X'F88A6552C0E798B1A7B846C078E85815EBFB24498CF83DA424E03EA6ADD20D51',0,2,46,9);
INSERT INTO "bodies" VALUES(X'F8D4CEF1C867127AEB8588CC4B0FBBDA2D97D51CD4A5272A44CD069C21093500',3,3,0,233);
CREATE TABLE body_sweep (
    running  integer primary key check (running = 1), -- always 1
    after    blob    not null              -- hash of the last body that was looked at
,
    pass integer not null default 0,
    after_number integer not null default 0,
    up_to integer not null default 0) strict;
CREATE TABLE body_uses (
    hash   blob    not null,               -- `bodies.hash`
    batch  integer not null,               -- `batches.no`; 0 for a use that is never deleted
    primary key (hash, batch)
) strict, without rowid;
CREATE TABLE calibrations (
    channel        text    not null,         -- as in `channels`
    version        integer not null,         -- as in `channels`
    method         text    not null,         -- source of the truth: `labels` or `dawid_skene`
    right          real    not null,         -- correct answers
    right_rejected  real    not null,         -- of those, not passed
    wrong          real    not null,         -- wrong answers
    wrong_passed   real    not null,         -- of those, passed
    time_us        integer not null,         -- when, Unix time in microseconds
    primary key (channel, version)
) strict, without rowid;
CREATE TABLE caller_holdings (
    caller  text    not null primary key,  -- `holdings.caller`
    bytes   integer not null               -- bytes of grades and packs
) strict, without rowid;
INSERT INTO "caller_holdings" VALUES('local',3330);
CREATE TABLE channel_checks (
    channel           text    not null,      -- as in `channels`
    version           integer not null,      -- as in `channels`
    bucket            integer not null,      -- as in `channels`
    judge             text    not null,      -- `operator`, or grader and version of the judge
    sensitivity       real    not null,      -- share of correct answers it passes, by the policy
    specificity       real    not null,      -- share of wrong answers it fails, by the policy
    passes            integer not null,      -- 1 if the checked verdicts were passes, 0 if not
    checks            integer not null,      -- number of checks
    disagreed         integer not null,      -- of those, with another verdict than the grader's
    weight            real    not null,      -- sum of 1/probability over the checks
    squares           real    not null,      -- sum of its squares
    disagreed_weight  real    not null,      -- sum of 1/probability over the disagreements
    primary key (channel, version, bucket, judge, sensitivity, specificity, passes)
) strict, without rowid;
INSERT INTO "channel_checks" VALUES('math/default',1,2993126,'text@1',1.0,1.0,0,2,0,2.0,2.0,0.0);
CREATE TABLE channel_uses (
    channel  text    not null primary key, -- grader and task family
    caller   text    not null,             -- caller that used it first; empty if not known
    last_us  integer not null              -- time of its last grade, Unix time in microseconds
) strict, without rowid;
INSERT INTO "channel_uses" VALUES('math/default','local',1795876075005679);
INSERT INTO "channel_uses" VALUES('tools/default','local',1795876075012924);
CREATE TABLE channels (
    channel               text    not null,  -- grader and task family
    version               integer not null,  -- version of the grader
    bucket                integer not null,  -- Unix time in units of ten minutes
    negatives             integer not null,  -- not passed
    positives             integer not null,  -- passed
    bound_negatives       integer not null,  -- negatives with a binding appeal
    bound_positives       integer not null,  -- positives with a binding appeal
    overturned_negatives  integer not null,  -- negatives that became passes
    overturned_positives  integer not null,  -- positives that became fails
    repeats               integer not null,  -- repetitions of a completion and task in a batch
    flips                 integer not null,  -- of those, with another verdict than the first
    primary key (channel, version, bucket)
) strict, without rowid;
INSERT INTO "channels" VALUES('math/default',1,2993126,2,1,0,0,0,0,0,0);
INSERT INTO "channels" VALUES('tools/default',1,2993126,0,1,0,0,0,0,0,0);
CREATE TABLE dataset_checks (
    id        blob    not null primary key, -- sorts by time in milliseconds
    datasets  text    not null,             -- names of the datasets, a JSON array
    checked   integer not null,             -- rows that were checked
    errors    integer not null,             -- findings that are errors
    warnings  integer not null,             -- findings that are warnings
    report    blob    not null,             -- `bodies.hash` of the report
    caller    text    not null,             -- name of the key that sent it
    time_us   integer not null              -- when, Unix time in microseconds
) strict, without rowid;
CREATE TABLE deleted_batches (
    first  integer primary key,            -- number of the first
    last   integer not null                -- number of the last, inclusive
) strict;
CREATE TABLE draws (
    grade        blob    not null primary key,  -- id of the grade, 16 bytes big-endian
    channel      text    not null,           -- its channel
    probability  real    not null,           -- probability of the draw
    weight       real    not null,           -- weight of the adjudication
    time_us      integer not null            -- when, Unix time in microseconds
) strict, without rowid;
CREATE TABLE facets (
    facet  text    not null,               -- such as `verdict=correct` or `channel=math/default`
    run    integer not null,               -- `runs.no`; each facet also has a row with 0, any run
    batch  blob    not null,               -- `batches.id`
    primary key (facet, run, batch)
) strict, without rowid;
INSERT INTO "facets" VALUES('appeal=upheld',0,X'01A2228E35FCDB3412FE21A620000000');
INSERT INTO "facets" VALUES('appeal=upheld',1,X'01A2228E35FCDB3412FE21A620000000');
INSERT INTO "facets" VALUES('channel=math/default',0,X'01A2228E35FCDB3412FE21A620000000');
INSERT INTO "facets" VALUES('channel=math/default',1,X'01A2228E35FCDB3412FE21A620000000');
INSERT INTO "facets" VALUES('channel=tools/default',0,X'01A2228E36009A0478A58FCE1C000000');
INSERT INTO "facets" VALUES('channel=tools/default',1,X'01A2228E36009A0478A58FCE1C000000');
INSERT INTO "facets" VALUES('grader=math',0,X'01A2228E35FCDB3412FE21A620000000');
INSERT INTO "facets" VALUES('grader=math',1,X'01A2228E35FCDB3412FE21A620000000');
INSERT INTO "facets" VALUES('grader=tools',0,X'01A2228E36009A0478A58FCE1C000000');
INSERT INTO "facets" VALUES('grader=tools',1,X'01A2228E36009A0478A58FCE1C000000');
INSERT INTO "facets" VALUES('group=p',0,X'01A2228E35FCDB3412FE21A620000000');
INSERT INTO "facets" VALUES('outcome=ungradable',0,X'01A2228E35FCDB3412FE21A620000000');
INSERT INTO "facets" VALUES('outcome=ungradable',1,X'01A2228E35FCDB3412FE21A620000000');
INSERT INTO "facets" VALUES('score=0',0,X'01A2228E35FCDB3412FE21A620000000');
INSERT INTO "facets" VALUES('score=0',1,X'01A2228E35FCDB3412FE21A620000000');
INSERT INTO "facets" VALUES('score=1',0,X'01A2228E35FCDB3412FE21A620000000');
INSERT INTO "facets" VALUES('score=1',0,X'01A2228E36009A0478A58FCE1C000000');
INSERT INTO "facets" VALUES('score=1',1,X'01A2228E35FCDB3412FE21A620000000');
INSERT INTO "facets" VALUES('score=1',1,X'01A2228E36009A0478A58FCE1C000000');
INSERT INTO "facets" VALUES('verdict=correct',0,X'01A2228E35FCDB3412FE21A620000000');
INSERT INTO "facets" VALUES('verdict=correct',0,X'01A2228E36009A0478A58FCE1C000000');
INSERT INTO "facets" VALUES('verdict=correct',1,X'01A2228E35FCDB3412FE21A620000000');
INSERT INTO "facets" VALUES('verdict=correct',1,X'01A2228E36009A0478A58FCE1C000000');
INSERT INTO "facets" VALUES('verdict=wrong_answer',0,X'01A2228E35FCDB3412FE21A620000000');
INSERT INTO "facets" VALUES('verdict=wrong_answer',1,X'01A2228E35FCDB3412FE21A620000000');
CREATE TABLE grades (
    key              integer primary key,  -- `batches.no` << 24, plus the position in the batch
    kind             integer not null,     -- `kinds.no`
    item             text,                 -- the item's id, as sent
    in_group         text,                 -- the item's group, as sent
    prompt_key       text,                 -- key of the prompt's history
    task_hash        blob    not null,     -- `bodies.hash` of the task
    completion_hash  blob    not null,     -- `bodies.hash` of the completion
    prompt_hash      blob,                 -- `bodies.hash` of the prompt
    score            real,                 -- correctness in [0, 1]
    reward           real,                 -- reward, finite
    components       text,                 -- checks and nested tasks, a JSON array
    steps            text,                 -- scores of steps, a JSON array
    measures         text,                 -- measures, a JSON object
    evidence         text,                 -- evidence, a JSON object
    error            text,                 -- `{code, message, retryable}`; null with a score
    meta             text,                 -- metadata that the trainer sent, a JSON object
    checks           text,                 -- additional tasks, a JSON object
    queue_us         integer not null,     -- time until a worker started the item, microseconds
    grade_us         integer not null,     -- time of grading, microseconds
    work             integer not null,     -- deterministic cost in the grader's unit
    time_us          integer not null      -- when it was graded, Unix time in microseconds
,
    appeal text,
    score_after real,
    advantage real,
    reward_breakdown text,
    redacted integer not null default 0,
    bodies_omitted integer not null default 0,
    checksum integer) strict;
INSERT INTO "grades" VALUES(16777216,1,'1-a','p','d7f11429931088c3',X'E7756F221B224514460FFCAF759C9EBB6F4C11A8EFE9C63B38C83546A6A5CBA2',X'C1B7665BE0B200D86B09764C177B664BE53E3287F53D7B4CF0379099F7716FB2',X'5963F72E51A920A41A86DF816DD7C9495A31DCFAE63E4EB759575D5861B09D9E',1.0,1.0,'[{"error":null,"grader":"text@1","name":"format","outcome":"graded","score":1.0,"verdict":"correct"}]',NULL,'{"tokens":12.0}','{"extracted":"1/3","extraction":"boxed","gold":"1/3","rule":"same_text","span":[7,10],"steps":1}',NULL,'{"tokens":12,"note":"open [secret]"}','{"format":{"type":"text","answer":"\\boxed{1/3}"}}',1287,12,1,1795876075005661,NULL,NULL,0.5,'{"terms":[{"name":"score","kind":"outcome","value":1.0},{"name":"weighted","kind":"outcome","value":1.0}]}',1,0,-3960756880709407476);
INSERT INTO "grades" VALUES(16777217,2,'1-b','p','d7f11429931088c3',X'E7756F221B224514460FFCAF759C9EBB6F4C11A8EFE9C63B38C83546A6A5CBA2',X'5F67B81E1DF1BC3E189DAF6E5CCE60BC0C6EEE826A6EF84D6E4B223887B72B46',X'5963F72E51A920A41A86DF816DD7C9495A31DCFAE63E4EB759575D5861B09D9E',0.0,0.0,'[{"error":null,"grader":"text@1","name":"format","outcome":"graded","score":0.0,"verdict":"wrong_answer"}]',NULL,'{"tokens":9007199254740992.0}','{"answer_normal":"1/2","extracted":"0.5","extraction":"boxed","gold":"1/3","gold_normal":"1/3","rule":"rational","span":[7,10],"steps":46}',NULL,'{"tokens":9007199254740993}','{"format":{"type":"text","answer":"x"}}',1271,15,46,1795876075005646,'{"judge":"text@1","sensitivity":1.0,"specificity":1.0,"probability":1.0,"verdict":"wrong_answer","pass":false,"agreed":true,"score":0.0,"binding":false,"overturned":false,"reason":null}',0.0,-0.5,'{"terms":[{"name":"score","kind":"outcome","value":0.0},{"name":"weighted","kind":"outcome","value":0.0}]}',0,0,-8676007327421533867);
INSERT INTO "grades" VALUES(16777218,2,'1-c',NULL,'43577172e4e598bc',X'E7756F221B224514460FFCAF759C9EBB6F4C11A8EFE9C63B38C83546A6A5CBA2',X'110C7DA2730669A80AA4450050596957153F0C79D14D44049BDC462882DF51D8',NULL,0.0,0.0,'[{"error":null,"grader":"text@1","name":"format","outcome":"graded","score":0.0,"verdict":"wrong_answer"}]',NULL,NULL,'{"answer_normal":"\"no answer here\"","extracted":"no answer here","extraction":"whole","gold":"1/3","gold_normal":"1/3","rule":"kind","span":[0,14],"steps":86}',NULL,NULL,'{"format":{"type":"text","answer":"x"}}',1258,538,86,1795876075005636,'{"judge":"text@1","sensitivity":1.0,"specificity":1.0,"probability":1.0,"verdict":"wrong_answer","pass":false,"agreed":true,"score":0.0,"binding":false,"overturned":false,"reason":null}',0.0,NULL,'{"terms":[{"name":"score","kind":"outcome","value":0.0},{"name":"weighted","kind":"outcome","value":0.0}]}',0,0,382426463022885253);
INSERT INTO "grades" VALUES(16777219,3,'1-d',NULL,'4fbb8ec9bb5e6b25',X'EE35DD2F57D0A76FDAE9D8307C36EE9603449B3415112B3096230897D0D505BA',X'F88A6552C0E798B1A7B846C078E85815EBFB24498CF83DA424E03EA6ADD20D51',NULL,NULL,NULL,'[{"error":null,"grader":"text@1","name":"format","outcome":"graded","score":0.0,"verdict":"wrong_answer"}]',NULL,NULL,NULL,'{"code":"gold_unparsable","message":"the gold cannot be read; write it as LaTeX, plain ASCII or words: `\\frac{`","retryable":false}',NULL,'{"format":{"type":"text","answer":"x"}}',1306,5,0,1795876075005679,NULL,NULL,NULL,NULL,0,0,-3480746783286979719);
INSERT INTO "grades" VALUES(33554432,4,'t',NULL,'6eca452ce1384ae1',X'C32B874987C79A77366FE4DC21D70758E8F040AE9F475093B233075F006B304A',X'D23BAC84055E95FB7A63BF9202FFA2540F98EF6B2975F78EA5BA74753A9D65CA',NULL,1.0,1.0,NULL,'[{"score":1.0,"masked":false}]','{"calls":1.0,"malformed":0.0,"redundant_calls":0.0,"tool_errors":0.0,"turns":1.0,"void_turns":0.0}','{"turns":[{"calls":[{"arguments":"{\"city\":\"Paris\"}","expected":0,"name":"weather","span":[12,63]}],"forms":["hermes"],"score":1.0}]}',NULL,NULL,NULL,3957,57,1,1795876075012924,NULL,NULL,NULL,NULL,0,0,-3946686684310207568);
CREATE TABLE holdings (
    run          integer not null,         -- `runs.no`, 0 without a run
    caller       text    not null,         -- `batches.caller`
    batches      integer not null,         -- batches
    grades       integer not null,         -- grades
    grade_bytes  integer not null,         -- bytes of their values
    pack_bytes   integer not null,         -- bytes of packs
    primary key (run, caller)
) strict, without rowid;
INSERT INTO "holdings" VALUES(1,'local',2,5,2830,500);
CREATE TABLE idempotency (
    no       integer primary key,          -- number of the row
    caller   text    not null,             -- name of the key that sent it; each has its own scope
    key      text    not null,             -- value of the header
    request  blob    not null,             -- hash of the request, 32 bytes
    batch    blob    not null,             -- id of its batch, 16 bytes big-endian
    time_us  integer not null,             -- when it was claimed, Unix time in microseconds
    media    text,                         -- `Content-Type` of the reply; null without a reply
    codec    integer,                      -- codec of the reply, as in `packs`
    size     integer,                      -- bytes of the reply when unpacked
    reply    blob,                         -- body of the reply
    unique (caller, key)
) strict;
CREATE TABLE items (
    item  text    not null,                -- `grades.item`
    key   integer not null,                -- `grades.key`; the grade may be deleted
    primary key (item, key)
) strict, without rowid;
INSERT INTO "items" VALUES('1-a',16777216);
INSERT INTO "items" VALUES('1-b',16777217);
INSERT INTO "items" VALUES('1-c',16777218);
INSERT INTO "items" VALUES('1-d',16777219);
INSERT INTO "items" VALUES('t',33554432);
CREATE TABLE judges (
    channel        text    not null,         -- as in `channels`
    version        integer not null,         -- as in `channels`
    judge          text    not null,         -- grader and version of the judge
    passes         integer not null,         -- 1 if the checked verdicts were passes, 0 if not
    right          integer not null,         -- correct answers
    right_passed   integer not null,         -- of those, passed by the judge
    wrong          integer not null,         -- wrong answers
    wrong_rejected  integer not null,         -- of those, not passed by the judge
    primary key (channel, version, judge, passes)
) strict, without rowid;
CREATE TABLE keys (
    id                      text    not null primary key, -- public part of the key
    name                    text    not null unique, -- name of the caller
    role                    text    not null,   -- `trainer`, `checker`, `operator` or `admin`
    hash                    blob    not null,   -- BLAKE3 of the key under `access.secret`, 32 bytes
    previous_hash           blob,               -- hash of the key before the last rotation
    previous_until_us       integer,            -- until when that key is valid
    items_per_minute        integer,            -- quotas, null for no limit
    cpu_seconds_per_minute  integer,
    items_in_flight         integer,
    bytes_stored_limit      integer,
    created_us              integer not null,   -- when, Unix time in microseconds
    rotated_us              integer,            -- when it was last rotated
    expires_us              integer,            -- when it expires; null for never
    revoked_us              integer,            -- when it was revoked; null if it was not
    last_used_us            integer,            -- when it was last used, within a minute
    bytes_stored            integer not null default 0 -- bytes of bodies recorded for it
) strict, without rowid;
CREATE TABLE kinds (
    no             integer primary key,    -- number of the kind
    spec           blob    not null unique, -- encoding of all columns below, used to find a kind
    channel        text    not null,       -- grader and task family
    grader         text    not null,       -- name of the grader
    version        integer not null,       -- version of the grader
    image          blob,                   -- hash of the guest's image, 32 bytes
    policy         text    not null,       -- name of the reward policy
    outcome        text    not null,       -- `graded`, `ungradable` or `failed`
    verdict        text,                   -- verdict of a graded item
    pass           integer,                -- 1 if the verdict is a pass, 0 if not
    deterministic  integer not null,       -- 1 if grading again gives the same verdict
    cached         integer not null        -- 1 if the outcome came from the result cache
, policy_hash blob, appeal text) strict;
INSERT INTO "kinds" VALUES(1,X'0C6D6174682F64656661756C74046D617468010006696E6C696E65066772616465640107636F72726563740101010001F8D4CEF1C867127AEB8588CC4B0FBBDA2D97D51CD4A5272A44CD069C2109350000','math/default','math',1,NULL,'inline','graded','correct',1,1,0,X'F8D4CEF1C867127AEB8588CC4B0FBBDA2D97D51CD4A5272A44CD069C21093500',NULL);
INSERT INTO "kinds" VALUES(2,X'0C6D6174682F64656661756C74046D617468010006696E6C696E6506677261646564010C77726F6E675F616E737765720100010001F8D4CEF1C867127AEB8588CC4B0FBBDA2D97D51CD4A5272A44CD069C210935000106757068656C64','math/default','math',1,NULL,'inline','graded','wrong_answer',0,1,0,X'F8D4CEF1C867127AEB8588CC4B0FBBDA2D97D51CD4A5272A44CD069C21093500','upheld');
INSERT INTO "kinds" VALUES(3,X'0C6D6174682F64656661756C74046D617468010006696E6C696E650A756E6772616461626C650000010001F8D4CEF1C867127AEB8588CC4B0FBBDA2D97D51CD4A5272A44CD069C2109350000','math/default','math',1,NULL,'inline','ungradable',NULL,NULL,1,0,X'F8D4CEF1C867127AEB8588CC4B0FBBDA2D97D51CD4A5272A44CD069C21093500',NULL);
INSERT INTO "kinds" VALUES(4,X'0D746F6F6C732F64656661756C7405746F6F6C7301000764656661756C74066772616465640107636F7272656374010101000000','tools/default','tools',1,NULL,'default','graded','correct',1,1,0,NULL,NULL);
CREATE TABLE packs (
    no       integer primary key,          -- number of the pack
    codec    integer not null,             -- 0: not compressed, 1: zstd
    size     integer not null,             -- bytes when unpacked
    content  blob    not null              -- the bodies, concatenated
, batch integer) strict;
INSERT INTO "packs" VALUES(1,1,64,X'28B52FFD20407D010074027B2274797065223A226D617468222C22616E73776572223A22312F33227D5C5C667261637B227D010086453901',1);
INSERT INTO "packs" VALUES(2,0,55,X'5C626F7865647B312F337D4F6E652074686972643F5C626F7865647B302E357D6E6F20616E7377657220686572655C626F7865647B327D',1);
INSERT INTO "packs" VALUES(3,1,233,X'28B52FFD20E9150500220B221E6049AB030470CC7E41B7D77E4CE2BF3C4F1000C0913FD02B600208825B01DDDDE804E013618A13C60971ACF8C32F916C60682E4B0B10A66E085A69A12ADB165857EE8DC041F8C57455A56B37E8205DD66E728F54E0974BD8A5C26ED001C06F2ACAC9C875D3E784E4E3B315F8E6DDC341D8C4C37BC7BB5C76A53F7C1A4472F03780DF23656BE92F080046C8FEB53C641AAA79DCC06E00C450A2F2060D530F',0);
INSERT INTO "packs" VALUES(4,1,676,X'28B52FFD60A4017D09000613341C70A76D03E65FA58536BEF7492FBE6DBFD5FFAE000EEF4213A02A0C012C002B002B00B8B906706FE702058864AE1619D1ED25B72F16F890E0E6884EBF18BBA6E4429741307685A4C437C744E12F01786EC38DDBD152FC62CEA9EBD63F3497D592DC502167982B4C5E4CD20E90D3949CE7DC6DB8C2599C607E0288A444281EBB6E8D90F376E5762FF149C4ED89913C64DDDD0D608E164A4D74206B2A776EFDE2E68CAC33023D745FE5DEE0AC88D6B1C7052605781BBA8713B75F13B7FE228196222C142A8057A279FB39778CE8D6D70B2200EF3B40625DFE213BCA560103E40AEB4B16391337CA05D02060D564B126C16F39A0271619B9457FC2F6F848301FF68970319EFE305068327C4DE06ACD105DD3A5B356BB311EBE68A205685661B6366603C085B8ECCEB360CBCA12',2);
INSERT INTO "packs" VALUES(5,0,76,X'3C746F6F6C5F63616C6C3E0A7B226E616D65223A202277656174686572222C2022617267756D656E7473223A207B2263697479223A20225061726973227D7D0A3C2F746F6F6C5F63616C6C3E',2);
CREATE TABLE pairs (
    -- Order of arrival. Numbers are never reused, so that a reader can continue after one.
    no       integer primary key autoincrement,
    model    text    not null,             -- name of the reward model
    pair     blob    not null,             -- `bodies.hash` of the pair
    source   text,                         -- origin, a JSON object
    caller   text    not null,             -- name of the key that sent it
    time_us  integer not null,             -- when, Unix time in microseconds
    unique (model, pair)
) strict;
CREATE TABLE permanent_holdings (
    caller  text    not null primary key,  -- caller of the entry
    bytes   integer not null               -- bytes of its packs
) strict, without rowid;
INSERT INTO "permanent_holdings" VALUES('local',171);
CREATE TABLE prompt_history (
    run             integer not null,        -- `runs.no`
    prompt_key      text    not null,        -- key of the prompt
    step            integer not null,        -- step of the run, -9223372036854775808 without one
    judged          integer not null,        -- rollouts whose verdict is a pass or a fail
    passes          integer not null,        -- of those, passed, after appeals
    rewards         integer not null,        -- rollouts with a reward
    reward_sum      real    not null,        -- sum of the rewards
    reward_squares  real    not null,        -- sum of their squares
    primary key (run, prompt_key, step)
) strict, without rowid;
INSERT INTO "prompt_history" VALUES(1,'43577172e4e598bc',1,1,0,1,0.0,0.0);
INSERT INTO "prompt_history" VALUES(1,'4fbb8ec9bb5e6b25',1,0,0,0,0.0,0.0);
INSERT INTO "prompt_history" VALUES(1,'6eca452ce1384ae1',2,1,1,1,1.0,1.0);
INSERT INTO "prompt_history" VALUES(1,'d7f11429931088c3',1,2,1,2,1.0,1.0);
CREATE TABLE reply_holdings (
    caller   text    not null primary key, -- `idempotency.caller`
    replies  integer not null,             -- replies
    bytes    integer not null              -- their bytes as stored
) strict, without rowid;
CREATE TABLE retention (
    running  integer primary key check (running = 1)  -- always 1
) strict;
CREATE TABLE rollups (
    run            integer not null,       -- `runs.no`, 0 without a run
    step           integer not null,       -- step of the run, -9223372036854775808 without one
    grader         text    not null,       -- name of the grader
    version        integer not null,       -- version of the grader
    outcome        text    not null,       -- `graded`, `ungradable` or `failed`
    verdict        text    not null,       -- verdict, empty without one
    grades         integer not null,       -- grades
    passes         integer not null,       -- of those, passed
    scores         integer not null,       -- of those, with a score
    score_sum      real    not null,       -- sum of the scores
    score_squares  real    not null,       -- sum of their squares
    grade_us       integer not null,       -- sum of the grading times, microseconds
    queue_us       integer not null,       -- sum of the waiting times, microseconds
    primary key (run, step, grader, version, outcome, verdict)
) strict, without rowid;
INSERT INTO "rollups" VALUES(1,1,'math',1,'graded','correct',1,1,1,1.0,1.0,12,1287);
INSERT INTO "rollups" VALUES(1,1,'math',1,'graded','wrong_answer',2,0,2,0.0,0.0,553,2529);
INSERT INTO "rollups" VALUES(1,1,'math',1,'ungradable','',1,0,0,0.0,0.0,5,1306);
INSERT INTO "rollups" VALUES(1,2,'tools',1,'graded','correct',1,1,1,1.0,1.0,57,3957);
CREATE TABLE runs (
    no          integer primary key,       -- number of the run, from 1; elsewhere 0 means "no run"
    name        text    not null unique,   -- name, as sent
    grades      integer not null,          -- grades of all steps
    graded      integer not null,          -- of those, with outcome `graded`
    ungradable  integer not null,          -- of those, with outcome `ungradable`
    failed      integer not null,          -- of those, with outcome `failed`
    passed      integer not null,          -- of the graded, passed
    scores      integer not null,          -- grades that have a score
    score_sum   real    not null,          -- sum of those scores
    last_step   integer,                   -- highest step
    first_us    integer not null,          -- time of the first grade, Unix time in microseconds
    last_us     integer not null           -- time of the last grade, Unix time in microseconds
, caller text not null default '', prompts integer not null default 0) strict;
INSERT INTO "runs" VALUES(1,'legacy',5,4,1,0,2,4,2.0,2,1795876075005636,1795876075012924,'local',4);
CREATE TABLE spool_progress (
    spool    text    not null primary key, -- identity of the spool folder
    segment  integer not null,             -- number of the segment
    byte     integer not null              -- first byte not applied yet
) strict, without rowid;
INSERT INTO "spool_progress" VALUES('01M8H8WCNNSAKWXMF4VC400000',1,4553);
CREATE TABLE step_numbers (
    run      integer not null,             -- `runs.no`
    width    integer not null,             -- number of steps counted together: 1, 16, 256 or 4096
    step     integer not null,             -- first of them, or -9223372036854775808 without a step
    number   text    not null,             -- name of the quantity
    bin      integer not null,             -- number of the bin
    count    integer not null,             -- grades
    sum      real    not null,             -- sum of their values
    squares  real    not null,             -- sum of the squares
    primary key (run, width, step, number, bin)
) strict, without rowid;
INSERT INTO "step_numbers" VALUES(1,1,1,'grade_us',3,1,5.0,25.0);
INSERT INTO "step_numbers" VALUES(1,1,1,'grade_us',4,2,27.0,369.0);
INSERT INTO "step_numbers" VALUES(1,1,1,'grade_us',10,1,538.0,289444.0);
INSERT INTO "step_numbers" VALUES(1,1,1,'other_bytes',4,3,34.0,398.0);
INSERT INTO "step_numbers" VALUES(1,1,1,'passed_bytes',4,1,11.0,121.0);
INSERT INTO "step_numbers" VALUES(1,1,1,'queue_us',11,4,5122.0,6560010.0);
INSERT INTO "step_numbers" VALUES(1,1,1,'reward',0,2,0.0,0.0);
INSERT INTO "step_numbers" VALUES(1,1,1,'reward',10,1,1.0,1.0);
INSERT INTO "step_numbers" VALUES(1,1,2,'grade_us',6,1,57.0,3249.0);
INSERT INTO "step_numbers" VALUES(1,1,2,'passed_bytes',7,1,76.0,5776.0);
INSERT INTO "step_numbers" VALUES(1,1,2,'queue_us',12,1,3957.0,15657849.0);
INSERT INTO "step_numbers" VALUES(1,1,2,'reward',10,1,1.0,1.0);
INSERT INTO "step_numbers" VALUES(1,16,0,'grade_us',3,1,5.0,25.0);
INSERT INTO "step_numbers" VALUES(1,16,0,'grade_us',4,2,27.0,369.0);
INSERT INTO "step_numbers" VALUES(1,16,0,'grade_us',6,1,57.0,3249.0);
INSERT INTO "step_numbers" VALUES(1,16,0,'grade_us',10,1,538.0,289444.0);
INSERT INTO "step_numbers" VALUES(1,16,0,'other_bytes',4,3,34.0,398.0);
INSERT INTO "step_numbers" VALUES(1,16,0,'passed_bytes',4,1,11.0,121.0);
INSERT INTO "step_numbers" VALUES(1,16,0,'passed_bytes',7,1,76.0,5776.0);
INSERT INTO "step_numbers" VALUES(1,16,0,'queue_us',11,4,5122.0,6560010.0);
INSERT INTO "step_numbers" VALUES(1,16,0,'queue_us',12,1,3957.0,15657849.0);
INSERT INTO "step_numbers" VALUES(1,16,0,'reward',0,2,0.0,0.0);
INSERT INTO "step_numbers" VALUES(1,16,0,'reward',10,2,2.0,2.0);
INSERT INTO "step_numbers" VALUES(1,256,0,'grade_us',3,1,5.0,25.0);
INSERT INTO "step_numbers" VALUES(1,256,0,'grade_us',4,2,27.0,369.0);
INSERT INTO "step_numbers" VALUES(1,256,0,'grade_us',6,1,57.0,3249.0);
INSERT INTO "step_numbers" VALUES(1,256,0,'grade_us',10,1,538.0,289444.0);
INSERT INTO "step_numbers" VALUES(1,256,0,'other_bytes',4,3,34.0,398.0);
INSERT INTO "step_numbers" VALUES(1,256,0,'passed_bytes',4,1,11.0,121.0);
INSERT INTO "step_numbers" VALUES(1,256,0,'passed_bytes',7,1,76.0,5776.0);
INSERT INTO "step_numbers" VALUES(1,256,0,'queue_us',11,4,5122.0,6560010.0);
INSERT INTO "step_numbers" VALUES(1,256,0,'queue_us',12,1,3957.0,15657849.0);
INSERT INTO "step_numbers" VALUES(1,256,0,'reward',0,2,0.0,0.0);
INSERT INTO "step_numbers" VALUES(1,256,0,'reward',10,2,2.0,2.0);
INSERT INTO "step_numbers" VALUES(1,4096,0,'grade_us',3,1,5.0,25.0);
INSERT INTO "step_numbers" VALUES(1,4096,0,'grade_us',4,2,27.0,369.0);
INSERT INTO "step_numbers" VALUES(1,4096,0,'grade_us',6,1,57.0,3249.0);
INSERT INTO "step_numbers" VALUES(1,4096,0,'grade_us',10,1,538.0,289444.0);
INSERT INTO "step_numbers" VALUES(1,4096,0,'other_bytes',4,3,34.0,398.0);
INSERT INTO "step_numbers" VALUES(1,4096,0,'passed_bytes',4,1,11.0,121.0);
INSERT INTO "step_numbers" VALUES(1,4096,0,'passed_bytes',7,1,76.0,5776.0);
INSERT INTO "step_numbers" VALUES(1,4096,0,'queue_us',11,4,5122.0,6560010.0);
INSERT INTO "step_numbers" VALUES(1,4096,0,'queue_us',12,1,3957.0,15657849.0);
INSERT INTO "step_numbers" VALUES(1,4096,0,'reward',0,2,0.0,0.0);
INSERT INTO "step_numbers" VALUES(1,4096,0,'reward',10,2,2.0,2.0);
CREATE TABLE step_words (
    run     integer not null,              -- `runs.no`
    width   integer not null,              -- as above
    step    integer not null,              -- as above
    topic   text    not null,              -- name of the property
    word    text    not null,              -- value; `pass` and `hit` for `pass` and `cache`
    grades  integer not null,              -- grades with this value
    primary key (run, width, step, topic, word)
) strict, without rowid;
INSERT INTO "step_words" VALUES(1,1,1,'cause','gold_unparsable',1);
INSERT INTO "step_words" VALUES(1,1,1,'grader','math',4);
INSERT INTO "step_words" VALUES(1,1,1,'outcome','graded',3);
INSERT INTO "step_words" VALUES(1,1,1,'outcome','ungradable',1);
INSERT INTO "step_words" VALUES(1,1,1,'pass','pass',1);
INSERT INTO "step_words" VALUES(1,1,1,'verdict','correct',1);
INSERT INTO "step_words" VALUES(1,1,1,'verdict','wrong_answer',2);
INSERT INTO "step_words" VALUES(1,1,2,'grader','tools',1);
INSERT INTO "step_words" VALUES(1,1,2,'outcome','graded',1);
INSERT INTO "step_words" VALUES(1,1,2,'pass','pass',1);
INSERT INTO "step_words" VALUES(1,1,2,'verdict','correct',1);
INSERT INTO "step_words" VALUES(1,16,0,'cause','gold_unparsable',1);
INSERT INTO "step_words" VALUES(1,16,0,'grader','math',4);
INSERT INTO "step_words" VALUES(1,16,0,'grader','tools',1);
INSERT INTO "step_words" VALUES(1,16,0,'outcome','graded',4);
INSERT INTO "step_words" VALUES(1,16,0,'outcome','ungradable',1);
INSERT INTO "step_words" VALUES(1,16,0,'pass','pass',2);
INSERT INTO "step_words" VALUES(1,16,0,'verdict','correct',2);
INSERT INTO "step_words" VALUES(1,16,0,'verdict','wrong_answer',2);
INSERT INTO "step_words" VALUES(1,256,0,'cause','gold_unparsable',1);
INSERT INTO "step_words" VALUES(1,256,0,'grader','math',4);
INSERT INTO "step_words" VALUES(1,256,0,'grader','tools',1);
INSERT INTO "step_words" VALUES(1,256,0,'outcome','graded',4);
INSERT INTO "step_words" VALUES(1,256,0,'outcome','ungradable',1);
INSERT INTO "step_words" VALUES(1,256,0,'pass','pass',2);
INSERT INTO "step_words" VALUES(1,256,0,'verdict','correct',2);
INSERT INTO "step_words" VALUES(1,256,0,'verdict','wrong_answer',2);
INSERT INTO "step_words" VALUES(1,4096,0,'cause','gold_unparsable',1);
INSERT INTO "step_words" VALUES(1,4096,0,'grader','math',4);
INSERT INTO "step_words" VALUES(1,4096,0,'grader','tools',1);
INSERT INTO "step_words" VALUES(1,4096,0,'outcome','graded',4);
INSERT INTO "step_words" VALUES(1,4096,0,'outcome','ungradable',1);
INSERT INTO "step_words" VALUES(1,4096,0,'pass','pass',2);
INSERT INTO "step_words" VALUES(1,4096,0,'verdict','correct',2);
INSERT INTO "step_words" VALUES(1,4096,0,'verdict','wrong_answer',2);
CREATE UNIQUE INDEX batches_by_run on batches (run, id);
CREATE UNIQUE INDEX batches_by_step on batches (run, step, id) where step is not null;
CREATE TRIGGER grades_are_not_changed before update on grades
begin
    select raise(abort, 'grades are append-only: write a new grade instead');
end;
CREATE TRIGGER grades_are_not_deleted before delete on grades
when not exists (select 1 from retention)
begin
    select raise(abort, 'grades are append-only: only a retention run deletes them');
end;
CREATE INDEX idempotency_by_time on idempotency (time_us);
CREATE INDEX adjudications_by_grade on adjudications (grade);
CREATE INDEX pairs_by_model on pairs (model);
CREATE INDEX grades_by_kind on grades (kind);
CREATE INDEX batches_walked on batches (id, first_us, last_us, step);
CREATE INDEX grades_by_score on grades (key >> 24, score) where score > 0 and score < 1;
CREATE TRIGGER keys_created after insert on keys
begin
    update access set version = version + 1;
end;
CREATE TRIGGER keys_changed after update of
    id, name, role, hash, previous_hash, previous_until_us, items_per_minute,
    cpu_seconds_per_minute, items_in_flight, bytes_stored_limit, expires_us, revoked_us on keys
begin
    update access set version = version + 1;
end;
CREATE TRIGGER keys_are_not_deleted before delete on keys
begin
    select raise(abort, 'keys are not deleted: revoke them instead');
end;
CREATE TRIGGER audit_is_not_changed before update on audit
begin
    select raise(abort, 'the audit log is append-only');
end;
CREATE TRIGGER audit_is_not_deleted before delete on audit
begin
    select raise(abort, 'the audit log is append-only');
end;
CREATE INDEX batches_to_count on batches (no) where grades is null;
CREATE INDEX batches_to_delete on batches (no) where deleted = 2;
CREATE INDEX batches_with_bodies on batches (id) where deleted = 0;
CREATE INDEX packs_by_batch on packs (batch) where batch > 0;
CREATE TRIGGER replies_are_counted after insert on idempotency when new.reply is not null
begin
    insert into reply_holdings (caller, replies, bytes)
    values (new.caller, 1, length(new.reply))
    on conflict (caller) do update set replies = replies + 1, bytes = bytes + excluded.bytes;
end;
CREATE TRIGGER deleted_replies_are_counted after delete on idempotency when old.reply is not null
begin
    update reply_holdings set replies = replies - 1, bytes = bytes - length(old.reply)
    where caller = old.caller;
end;
CREATE TRIGGER changed_replies_are_counted after update of reply on idempotency
begin
    insert into reply_holdings (caller, replies, bytes) values (new.caller, 0, 0)
    on conflict (caller) do nothing;
    update reply_holdings set
        replies = replies + (new.reply is not null) - (old.reply is not null),
        bytes = bytes + coalesce(length(new.reply), 0) - coalesce(length(old.reply), 0)
    where caller = new.caller;
end;
CREATE TRIGGER holdings_are_summed after insert on holdings
begin
    insert into caller_holdings (caller, bytes)
    values (new.caller, new.grade_bytes + new.pack_bytes)
    on conflict (caller) do update set bytes = bytes + excluded.bytes;
end;
CREATE TRIGGER changed_holdings_are_summed after update of grade_bytes, pack_bytes on holdings
begin
    update caller_holdings set
        bytes = bytes + new.grade_bytes + new.pack_bytes - old.grade_bytes - old.pack_bytes
    where caller = new.caller;
end;
CREATE TRIGGER deleted_holdings_are_summed after delete on holdings
begin
    update caller_holdings set bytes = bytes - old.grade_bytes - old.pack_bytes
    where caller = old.caller;
end;
CREATE TRIGGER items_are_listed after insert on grades when new.item is not null
begin
    insert or ignore into items (item, key) values (new.item, new.key);
end;
CREATE INDEX packs_owners on packs (no, batch);
CREATE TRIGGER prompts_are_counted after insert on prompt_history
when not exists (
    select 1 from prompt_history
    where run = new.run and prompt_key = new.prompt_key and step <> new.step)
begin
    update runs set prompts = prompts + 1 where no = new.run;
end;
DELETE FROM "sqlite_sequence";
COMMIT;