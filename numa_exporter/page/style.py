"""The page's looks. Type in rem; only the geometry of the lanes is in pixels, as the marks are (marks.py)."""

from numa_exporter.page.colours import properties
from numa_exporter.page.columns import Columns
from numa_exporter.page.marks import HEIGHT, PITCH


def stylesheet(columns: Columns) -> str:
    """All rules; the grid's columns depend on the machine."""
    tracks = (
        f":root{{--gap:28px;--columns:{columns.template or 'minmax(0, 1fr)'};--pitch:{PITCH}px;--lanes:{HEIGHT}px}}\n"
    )
    widths = sorted({width for _, width in columns.sockets})
    spans = "".join(f".span-{width}{{grid-column:span {width}}}\n" for width in widths)
    return "\n" + properties() + tracks + GROUND + MACHINE + LEDGER + WORDS + spans + SMALLER + OTHER_MEDIA


GROUND = """
*{box-sizing:border-box}
html{scroll-padding-top:44px}
body{margin:0 auto;max-width:1440px;padding:0 20px 40px;background:var(--ground);color:var(--ink);
 font:.875rem/1.45 system-ui,"Segoe UI","Liberation Sans",sans-serif;font-variant-numeric:tabular-nums}
p,ul,dl,dd,h1,h2,h3,pre{margin:0;padding:0}
ul{list-style:none}
a{color:var(--link)}
small{font-size:.75rem}
code,pre,dt,dd{font-family:ui-monospace,"DejaVu Sans Mono",monospace;font-size:.75rem}
svg{display:block}
summary{cursor:pointer;min-height:24px;line-height:1.5}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
:target{outline:2px solid var(--link);outline-offset:4px}
.spoken{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.unbroken{white-space:nowrap}
.quiet{color:var(--muted);font-size:.8125rem}
.triangle{color:var(--loud)}
header{display:flex;flex-wrap:wrap;justify-content:space-between;gap:2px 24px;padding:12px 0;color:var(--muted);
 overflow-wrap:anywhere}
header b{color:var(--ink)}
.banner{flex:1 0 100%;margin:-12px -20px 8px;padding:8px 20px;background:var(--ink);color:var(--ground);font-weight:600}
h1{font-size:1.625rem;line-height:1.2;font-weight:650;margin:6px 0 8px}
h2{font-size:1rem;margin:26px 0 6px}
h3{font-size:1rem;display:inline;overflow-wrap:anywhere}
#verdict ul{max-width:130ch}
#verdict li,.blind{padding:2px 0 2px 14px;border-left:4px solid var(--loud);margin:4px 0;overflow-wrap:anywhere}
#verdict .calm{border-color:var(--edge)}
.blind{border-color:var(--ink)}
"""

MACHINE = """
.key{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:.8125rem;color:var(--muted);margin-bottom:10px}
.key li{display:flex;align-items:center;gap:6px}
.home-swatch{width:26px;height:14px;background:var(--home);border:1px solid var(--edge)}
.head{display:grid;grid-template-columns:var(--columns)}
.machine{margin:0 156px 0 174px}
.frame{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 8px;padding:4px 8px;color:var(--muted);
 border:1px solid var(--edge);border-bottom:0}
.frame b{color:var(--ink)}
.all{grid-column:1/-1}
.node{min-width:0;padding:6px 8px 8px;border:1px solid var(--edge);overflow-wrap:anywhere}
.node+.node{border-left:0}
.node p{font-size:.8125rem}
.distance{display:grid;place-items:center;color:var(--muted);font-size:.75rem}
.distance span:last-child{writing-mode:vertical-rl}
.memory-bar{width:100%;height:10px;margin:4px 0 2px;outline:1px solid var(--edge)}
.used{fill:var(--muted)}
.cache{fill:var(--socket)}
.chips{display:flex;flex-wrap:wrap;gap:6px;margin-top:6px}
.chip{display:inline-grid;min-width:62px;min-height:24px;padding:2px 7px;text-align:center;text-decoration:none;
 border:1.5px solid var(--local);border-radius:3px;background:var(--home);color:var(--ink);
 font-size:.8125rem;font-weight:600}
.chip small{font-weight:400}
.chip.bad{background:var(--loud);border-color:var(--loud);color:var(--on-loud)}
.chip.bad .triangle{color:inherit}
.chip.free{border-style:dashed;background:none;font-weight:400}
.below{margin-top:4px}
.not-placed{display:flex;flex-wrap:wrap;gap:8px;align-items:center;margin-top:8px}
"""

LEDGER = """
.row{display:grid;grid-template-columns:112px 62px var(--columns) 156px;position:relative}
.strip{position:sticky;top:0;z-index:1;margin-top:14px;background:var(--ground);color:var(--muted);font-size:.75rem}
.strip .row{padding:3px 0;border-bottom:1px solid var(--edge)}
.strip .cell{padding:0 2px}
.mirrored .strip .lane-names+.cell{text-align:right}
.strip .numbers,.strip .lane-names{display:block}
.workload{margin-top:14px;padding-top:8px;border-top:1px solid var(--hairline)}
.strip+.workload{margin-top:2px;border:0}
.workload-head{line-height:1.5}
.gpus{margin:0 14px 0 8px;color:var(--muted)}
.state{overflow-wrap:anywhere}
.loud{color:var(--loud);font-weight:650}
.folds{margin-top:14px;columns:2 420px;column-gap:32px}
.folds .workload{margin-top:0;padding:4px 0;break-inside:avoid}
.folds .workload[open]{column-span:all}
.folds h3{font-size:.875rem}
.rows{margin-top:4px}
.rows .row{padding:2px 0;border-top:1px solid var(--hairline)}
.who{padding-left:14px;font-size:.8125rem;line-height:1.35;overflow-wrap:anywhere}
.who>span{display:block;color:var(--muted);font-size:.75rem}
.row.bad .who{padding-left:10px;border-left:4px solid var(--loud)}
.row.bad .who b{color:var(--loud)}
.lane-names,.numbers{display:grid;grid-auto-rows:var(--pitch);line-height:18px;font-size:.75rem;color:var(--muted);
 white-space:nowrap}
.lane-names{text-align:right;padding-right:8px}
.numbers{padding-left:12px}
.numbers b{color:var(--loud);font-size:.8125rem}
.lane-marks{width:100%;height:var(--lanes)}
.cell{min-width:0}
.rows .cell{border-left:1px solid var(--edge);border-right:1px solid var(--edge)}
.rows .cell+.cell{border-left:0}
.home{background:var(--home)}
rect.local{fill:var(--local)}
rect.socket{fill:var(--socket);stroke:var(--local)}
.against{fill:var(--loud)}
.remote{fill:url(#hatch);stroke:var(--loud);stroke-width:1.2}
.unjudged{fill:url(#dots);stroke:var(--edge)}
.hatch-line{fill:var(--loud)}
.dot{fill:var(--muted)}
.helper{padding:4px 14px;border-top:1px solid var(--hairline);font-size:.8125rem;color:var(--muted);
 overflow-wrap:anywhere}
.observers{margin-top:18px;color:var(--muted);overflow-wrap:anywhere}
.observers b,.helper b{color:var(--ink)}
"""

WORDS = """
.notes{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:0 32px;padding:8px 0 4px 14px}
.notes ul{list-style:disc;padding-left:18px}
.notes summary{color:var(--muted);font-size:.8125rem}
.finding{padding-bottom:4px;color:var(--muted);overflow-wrap:anywhere}
.finding+.finding{margin-top:6px}
.finding.warning{color:inherit}
.warning>p{font-weight:600}
.suppressed{padding-left:8px;border-left:3px double var(--edge)}
.to-type .quiet{font-weight:400}
.answers{margin-top:6px;font-size:.75rem;color:var(--muted);overflow-wrap:anywhere}
.doubts{padding:4px 14px 0}
pre{padding:6px 8px;border-left:3px solid var(--edge);background:var(--command);color:var(--ink);
 white-space:pre-wrap;overflow-wrap:anywhere;user-select:all}
dt{margin-top:4px;color:var(--muted);overflow-wrap:anywhere}
dd{overflow-wrap:anywhere}
.sources{columns:22em;font-size:.8125rem}
.sources li{padding:1px 0;overflow-wrap:anywhere}
.down{font-weight:650}
.sources+.quiet{margin-top:8px;max-width:100ch}
"""

SMALLER = """
@media(max-width:899px){.notes{grid-template-columns:minmax(0,1fr)}}
@media(max-width:1099px){
.many .machine{margin-left:0;margin-right:0}
.many .frames{display:flex;flex-wrap:wrap;gap:0 12px}
.many .frame{border:0;padding:0;gap:6px}
.many .head:not(.frames){grid-template-columns:repeat(4,minmax(0,1fr));gap:0 14px}
.many .node{border:0;border-top:1px solid var(--hairline);padding:4px 0 8px}
.many .distance,.many .head .gap{display:none}
}
@media(max-width:640px){
:root{--gap:18px}
body{padding:0 12px 32px}
.banner{margin:-12px -12px 8px;padding:8px 12px}
h1{font-size:1.375rem}
.row{grid-template-columns:58px var(--columns) 126px}
.who{grid-column:1/-1;display:flex;gap:8px;align-items:baseline}
.strip .who{display:none}
.lane-names{padding-right:4px}
.numbers{padding-left:6px}
.numbers b{font-size:.75rem}
.machine{margin-left:0;margin-right:0}
.chip{min-width:0}
.notes{padding-left:0}
.state{display:block}
.many .head:not(.frames){grid-template-columns:1fr 1fr}
.many .rows .cell{border-right:0}
.many .rows .cell+.cell{border-left:0}
}
@media(max-width:359px){.numbers{padding-left:2px;letter-spacing:-.02em}}
"""

OTHER_MEDIA = """
@media(forced-colors:active){
.against{fill:Mark;stroke:CanvasText}
.remote,.unjudged,rect.socket{stroke:CanvasText}
rect.socket{fill:Canvas}
rect.local,.hatch-line,.dot,.used{fill:CanvasText}
.cache{fill:url(#hatch)}
.home{outline:1px solid CanvasText}
}
@media print{.strip{position:static}}
"""
