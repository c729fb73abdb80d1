-- One writer. Per mutant nothing is written; per batch one row; per distinct finding one row.
create table campaigns (
    id integer primary key,
    created text not null,
    target text not null,
    version text not null,
    config text not null,          -- JSON: everything that decides which mutants are made
    status text not null           -- running, finished, stopped
);
create table batches (
    campaign integer not null references campaigns(id),
    number integer not null,
    api text not null,
    counts text not null,          -- JSON: outcome -> mutants
    reasons text not null,         -- JSON: why verdicts were inconclusive
    refusals text not null,        -- JSON: what the library refused
    cpu real not null,
    lesson text not null default '', -- JSON: what the schedule learnt from it
    until integer,                 -- the mutant it stopped before: a campaign may end in the middle of a batch
    primary key (campaign, number)
);
create table rules (               -- derivative rules reached, as TABLE:RULE
    campaign integer not null references campaigns(id),
    rule text not null,
    primary key (campaign, rule)
);
create table existing_rules (      -- derivative rules that the library has, and why this computer cannot reach one
    campaign integer not null references campaigns(id),
    rule text not null,
    reason text not null,
    primary key (campaign, rule)
);
create table findings (
    campaign integer not null references campaigns(id),
    key text not null,
    id text not null,
    confirmed integer not null,
    times integer not null,        -- how often it was met
    document text not null,        -- JSON with a form: the finding itself
    primary key (campaign, key)
);
create index findings_by_id on findings(id);
create table suspicions (          -- seen by a worker, not yet finished: nothing is lost if the campaign dies now
    campaign integer not null references campaigns(id),
    key text not null,
    report text not null,          -- JSON: what was seen, or which mutant the worker died at
    times integer not null default 1, -- how often it was met meanwhile
    primary key (campaign, key)
);
create table aliases (             -- suspicions that turned out to be a finding of another key
    campaign integer not null references campaigns(id),
    key text not null,
    final text not null,
    primary key (campaign, key)
);
create table questions (           -- nothing is suspected: what the reference is asked when there is time
    number integer primary key,
    campaign integer not null references campaigns(id),
    report text not null           -- JSON: the mutant, and the scenarios in question
);
create table corpora (             -- the seeds of a campaign, to be run again on another release
    campaign integer primary key references campaigns(id),
    seeds blob not null            -- JSON lines (api, source, program), compressed by zlib
);
create table spending (            -- where the time went: seconds by what they were spent on
    campaign integer not null references campaigns(id),
    run text not null,             -- which run of the campaign: one that is resumed adds its own; '': what those before it spent that it follows
    what text not null,
    seconds real not null,
    primary key (campaign, run, what)
);
