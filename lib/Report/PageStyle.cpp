//===- PageStyle.cpp - the style sheet of the report page -----------------===//

#include "Sections.h"

const char *const sp::kPageStyle = R"css(
:root {
  color-scheme: light dark;
  --bg: #f6f7f9; --card: #fff; --fg: #1b2430; --dim: #5b6675; --line: #d9dee5;
  --box: #eef1f5; --rep: #2f6fb5; --seq: #0b8a6a; --fea: #8a4fb3; --par: #c2560c;
  --p0: #b4531b; --p1: #0b7a75; --band: #8d99a81a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #12161c; --card: #1a2029; --fg: #e6eaf0; --dim: #9aa6b5;
    --line: #333d4a; --box: #252d38; --rep: #6aa9ee; --seq: #3fc79f;
    --fea: #c58ae8; --par: #f39a52; --p0: #f0935a; --p1: #4fc7bf;
    --band: #8d99a814;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 24px; max-width: 1240px; background: var(--bg);
  color: var(--fg); font: 15px/1.55 system-ui, -apple-system, "Segoe UI",
  Roboto, "DejaVu Sans", sans-serif;
}
h1 { font-size: 28px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 20px; margin: 0 0 8px; }
h3 { font-size: 16px; margin: 20px 0 8px; }
p { margin: 0 0 12px; max-width: 78ch; }
code { font: 0.92em ui-monospace, "DejaVu Sans Mono", monospace; }
.kind { color: var(--dim); margin: 0; }
.defs { position: absolute; }
section {
  background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 20px 24px; margin: 16px 0;
}
.tiles {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(220px, 1fr));
  gap: 16px; margin: 16px 0;
}
.tile {
  background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 14px 18px;
}
.tile dt { color: var(--dim); }
.tile dd { margin: 0; font-size: 24px; font-weight: 600; }
.tile .note { font-size: 13px; font-weight: 400; color: var(--dim); }
ul.legend { list-style: none; padding: 0; margin: 0 0 8px; }
ul.legend li { margin: 4px 0; }
.gl { vertical-align: -2px; margin-right: 4px; overflow: visible; }
.lanes {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr));
  gap: 12px 24px; align-items: start;
}
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; text-align: center; margin-bottom: 6px; }
.lane { width: 100%; max-width: 560px; height: auto; display: block; margin: 0 auto; }
.lane text { font-family: inherit; text-anchor: middle; fill: var(--fg); }
.lane .bt, .lane .ct { font-size: 12.5px; font-weight: 600; }
.lane .bs, .lane .cs { font-size: 11px; }
.lane .bs { fill: var(--dim); }
.lane .ct, .lane .cs { fill: var(--card); }
.lane .ch { font-size: 11px; text-anchor: start; }
.bx { fill: var(--box); stroke: var(--line); }
.co { fill: var(--fg); }
.fr { fill: var(--card); stroke: var(--dim); stroke-dasharray: 4 3; }
.ed { fill: none; stroke-width: 2; }
.ed.rep { stroke: var(--rep); } .ah.rep { fill: var(--rep); }
.ed.seq { stroke: var(--seq); } .ah.seq { fill: var(--seq); }
.ed.fea { stroke: var(--fea); } .ah.fea { fill: var(--fea); }
.ed.par { stroke: var(--par); stroke-dasharray: 5 3; } .ah.par { fill: var(--par); }
.ga { fill: var(--card); stroke: var(--dim); }
.gf.rep { fill: var(--rep); } .gf.seq { fill: var(--seq); }
.gf.fea { fill: var(--fea); } .gf.par { fill: url(#hatch); }
.hb { fill: var(--card); } .hs { fill: var(--par); }
table { border-collapse: collapse; margin: 8px 0 16px; font-size: 14px; }
caption { text-align: left; font-weight: 600; padding: 4px 0; }
th, td { padding: 4px 10px; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
tbody th { font-weight: 400; }
thead th { color: var(--dim); font-weight: 600; vertical-align: bottom; }
th[scope=rowgroup], .sum th, .sum td { font-weight: 600; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.none { color: var(--dim); }
.program { text-align: center; border-left: 1px solid var(--line); }
.wide { overflow-x: auto; }
details { margin: 8px 0; }
summary { cursor: pointer; color: var(--dim); }
.chart { position: relative; height: 320px; margin: 8px 0 56px 72px; }
.chart svg { width: 100%; height: 100%; display: block; overflow: visible; }
.chart line, .chart path { vector-effect: non-scaling-stroke; }
.grid { stroke: var(--line); stroke-width: 1; }
.band { fill: var(--band); }
.phase { stroke: var(--fg); stroke-width: 1.5; stroke-dasharray: 2 3; }
.line { fill: none; stroke-width: 1.8; }
.arena { stroke-width: 1.5; stroke-dasharray: 6 4; }
.area { opacity: 0.22; }
.line.p0, .arena.p0 { stroke: var(--p0); } .area.p0 { fill: var(--p0); }
.line.p1, .arena.p1 { stroke: var(--p1); } .area.p1 { fill: var(--p1); }
.hit { fill: transparent; } .hit:hover { fill: var(--fg); fill-opacity: 0.18; }
.key { display: inline-block; width: 18px; height: 10px; margin: 0 6px 0 10px; }
.key.p0 { background: var(--p0); } .key.p1 { background: var(--p1); }
.yl span {
  position: absolute; right: calc(100% + 8px); transform: translateY(-50%);
  font-size: 12px; color: var(--dim); white-space: nowrap;
}
.xl span { position: absolute; font-size: 12px; color: var(--dim); }
.xl .ly { top: calc(100% + 4px); transform: translateX(-50%); }
.xl .ph {
  top: calc(100% + 24px); text-align: center; color: var(--fg); overflow: hidden;
  border-top: 1px solid var(--line); padding-top: 2px; text-overflow: ellipsis;
}
@media (max-width: 640px) {
  body { padding: 12px; }
  section { padding: 14px; }
  th, td { padding: 4px 6px; }
  .chart { height: 240px; }
}
)css";
