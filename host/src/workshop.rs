// SPDX-License-Identifier: Apache-2.0
//! Builds what a run needs and is not there yet: the simulated device (soc/Makefile) and its firmware
//! (device/Makefile). Everything lies under `build/`; a second call finds it there.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use object::{Object, ObjectSymbol};
use serde_json::Value;

use crate::scenario::{Cpu, Scenario, Variant, Work};

/// Why something could not be built.
#[derive(Debug)]
pub enum BuildError {
    /// The user's C file: the compiler's own words, or what the file lacks.
    Source(String),
    /// Anything else.
    Failed(String),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Source(text) | BuildError::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for BuildError {}

/// The project's folders.
#[derive(Debug, Clone)]
pub struct Workshop {
    root: PathBuf,
}

/// Where the firmware's C sources lie.
struct Sources {
    freertos: PathBuf,
    lwip: PathBuf,
}

fn cpu_name(cpu: Cpu) -> &'static str {
    match cpu {
        Cpu::Imac => "imac",
        Cpu::Full => "full",
    }
}

fn failed(what: &str, output: &Output) -> BuildError {
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let tail: Vec<&str> = text.lines().rev().take(20).collect();
    let tail: Vec<&str> = tail.into_iter().rev().collect();
    BuildError::Failed(format!("{what} failed:\n{}", tail.join("\n")))
}

fn run(command: &mut Command, what: &str) -> Result<Output, BuildError> {
    command
        .output()
        .map_err(|error| BuildError::Failed(format!("{what}: cannot run {:?}: {error}", command.get_program())))
}

fn io<T>(path: &Path, result: std::io::Result<T>) -> Result<T, BuildError> {
    result.map_err(|error| BuildError::Failed(format!("{}: {error}", path.display())))
}

impl Workshop {
    /// The project that this program was built in: `WEIR_ROOT`, or the first folder above the program with the
    /// device's sources.
    ///
    /// # Errors
    /// When there is none.
    pub fn find() -> Result<Workshop, BuildError> {
        let is_root = |path: &Path| path.join("device/Makefile").is_file() && path.join("soc/Makefile").is_file();
        let named = std::env::var_os("WEIR_ROOT").map(PathBuf::from);
        let program = std::env::current_exe().ok();
        let above = program.iter().flat_map(|program| program.ancestors()).map(Path::to_path_buf);
        match named.into_iter().chain(above).find(|path| is_root(path)) {
            Some(root) => Ok(Workshop { root }),
            None => Err(BuildError::Failed(
                "the device's sources are not found: run `./weir` in the project's folder, or set WEIR_ROOT to it"
                    .to_string(),
            )),
        }
    }

    /// The project in this folder.
    pub fn at(root: &Path) -> Workshop {
        Workshop { root: root.to_path_buf() }
    }

    /// The project's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// One build at a time in one folder: others wait.
    fn lock(&self, folder: &Path) -> Result<File, BuildError> {
        io(folder, fs::create_dir_all(folder))?;
        let path = folder.join("lock");
        let file = io(&path, File::create(&path))?;
        io(&path, file.lock())?;
        Ok(file)
    }

    /// The library of the simulated device that a receive path runs on.
    ///
    /// # Errors
    /// When the build fails.
    pub fn device(&self, cpu: Cpu, variant: Variant) -> Result<PathBuf, BuildError> {
        let nic = if variant.uses_queues() { "queues" } else { "plain" };
        let folder = self.root.join("build/soc").join(format!("{}-{nic}", cpu_name(cpu)));
        let _lock = self.lock(&folder)?;
        let venv = self.root.join("build/venv");
        if !venv.join("bin/python").exists() {
            return Err(BuildError::Failed("the tools are not installed: run `make setup` first".to_string()));
        }
        let mut make = Command::new("make");
        make.arg("-C").arg(self.root.join("soc"));
        make.arg(format!("OUT={}", folder.display())).arg(format!("VENV={}", venv.display()));
        make.arg(format!("CPU={}", cpu_name(cpu))).arg(format!("NIC={nic}"));
        let output = run(&mut make, "building the simulated device")?;
        if !output.status.success() {
            return Err(failed("building the simulated device", &output));
        }
        Ok(folder.join("libdevice.so"))
    }

    /// The firmware for a scenario.
    ///
    /// # Errors
    /// [`BuildError::Source`] when a user's C file does not compile or link.
    pub fn firmware(&self, scenario: &Scenario) -> Result<PathBuf, BuildError> {
        let device = &scenario.device;
        let cpu = cpu_name(device.cpu);
        let base = self.root.join("build/device").join(format!("{cpu}-{}mhz-{}us", device.cpu_mhz, device.tick_us));
        let _lock = self.lock(&base)?;
        let mut make = self.make(scenario, &base)?;
        let image = match self.user_objects(scenario, &base)? {
            Some((objects, folder)) => {
                make.arg(format!(
                    "JOBS_O={}",
                    objects.iter().map(|o| o.display().to_string()).collect::<Vec<_>>().join(" ")
                ));
                folder.join(format!("firmware-{}.elf", device.link_order))
            }
            None => base.join(format!("firmware-{}.elf", device.link_order)),
        };
        make.arg(format!("IMAGE={}", image.display())).arg("image");
        let output = run(&mut make, "building the firmware")?;
        if !output.status.success() {
            return Err(link_error(&output).unwrap_or_else(|| failed("building the firmware", &output)));
        }
        Ok(image)
    }

    fn make(&self, scenario: &Scenario, base: &Path) -> Result<Command, BuildError> {
        let sources = self.sources()?;
        let device = &scenario.device;
        let mut make = Command::new("make");
        make.arg("-s").arg("-j2").arg("-C").arg(self.root.join("device"));
        make.arg(format!("OUT={}", base.display()));
        make.arg(format!("FREERTOS={}", sources.freertos.display()));
        make.arg(format!("LWIP={}", sources.lwip.display()));
        make.arg(format!("CPU={}", cpu_name(device.cpu)));
        make.arg(format!("CPU_HZ={}", u64::from(device.cpu_mhz) * 1_000_000));
        make.arg(format!("TICK_HZ={}", 1_000_000 / device.tick_us));
        make.arg(format!("LINK_ORDER={}", device.link_order));
        Ok(make)
    }

    /// `WEIR_FREERTOS` and `WEIR_LWIP`, or what cargo has unpacked for this workspace.
    fn sources(&self) -> Result<Sources, BuildError> {
        let named = |name| std::env::var_os(name).map(PathBuf::from);
        if let (Some(freertos), Some(lwip)) = (named("WEIR_FREERTOS"), named("WEIR_LWIP")) {
            return Ok(Sources { freertos, lwip });
        }
        let mut cargo = Command::new("cargo");
        cargo.args(["metadata", "--format-version", "1", "--locked", "--manifest-path"]);
        cargo.arg(self.root.join("Cargo.toml"));
        let output = run(&mut cargo, "looking for the firmware's sources")?;
        if !output.status.success() {
            return Err(failed("looking for the firmware's sources (cargo metadata)", &output));
        }
        let metadata: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| BuildError::Failed(format!("cargo metadata: {error}")))?;
        let folder = |name: &str| {
            let packages = metadata["packages"].as_array()?;
            let package = packages.iter().find(|package| package["name"] == name)?;
            Path::new(package["manifest_path"].as_str()?).parent().map(Path::to_path_buf)
        };
        match (folder("freertos-next"), folder("lwip")) {
            (Some(freertos), Some(lwip)) => Ok(Sources {
                freertos: named("WEIR_FREERTOS").unwrap_or_else(|| freertos.join("FreeRTOS-Kernel")),
                lwip: named("WEIR_LWIP").unwrap_or(lwip),
            }),
            _ => Err(BuildError::Failed("cargo metadata names no freertos-next or no lwip".to_string())),
        }
    }

    /// Compiles the user's C files and the table of their jobs; the folder is theirs alone.
    fn user_objects(&self, scenario: &Scenario, base: &Path) -> Result<Option<(Vec<PathBuf>, PathBuf)>, BuildError> {
        let jobs: Vec<(&str, &Path)> = scenario
            .tasks
            .iter()
            .filter_map(|task| match &task.work {
                Work::Source { path } => Some((task.name.as_str(), path.as_path())),
                _ => None,
            })
            .collect();
        if jobs.is_empty() {
            return Ok(None);
        }
        let mut hasher = DefaultHasher::new();
        jobs.hash(&mut hasher);
        let folder = base.join(format!("user-{:016x}", hasher.finish()));
        io(&folder, fs::create_dir_all(&folder))?;
        let mut files: Vec<&Path> = jobs.iter().map(|(_, path)| *path).collect();
        files.sort_unstable();
        files.dedup();
        let prototypes: String = jobs.iter().map(|(name, _)| format!("void {name}_job(void);\n")).collect();
        let header = folder.join("jobs.h");
        io(&header, fs::write(&header, prototypes))?;
        let mut compiler = self.compiler(scenario, base)?;
        // So that a job of another type than the device calls does not compile.
        compiler.extend(["-include".to_string(), header.display().to_string()]);
        let mut objects = vec![self.job_table(&jobs, &folder, &compiler)?];
        for (index, file) in files.into_iter().enumerate() {
            let object = folder.join(format!("user{index}.o"));
            self.compile(&compiler, file, &object)?;
            for (name, _) in jobs.iter().filter(|(_, path)| *path == file) {
                require_job(file, &object, name)?;
            }
            objects.push(object);
        }
        Ok(Some((objects, folder)))
    }

    /// The compiler and its options, as device/Makefile has them.
    fn compiler(&self, scenario: &Scenario, base: &Path) -> Result<Vec<String>, BuildError> {
        let mut make = self.make(scenario, base)?;
        let output = run(make.arg("print-compiler"), "asking for the compiler")?;
        if !output.status.success() {
            return Err(failed("asking for the compiler", &output));
        }
        Ok(String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_string).collect())
    }

    fn job_table(&self, jobs: &[(&str, &Path)], folder: &Path, compiler: &[String]) -> Result<PathBuf, BuildError> {
        let names: Vec<String> = jobs.iter().map(|(name, _)| format!("{name}_job")).collect();
        let text = format!("#include \"work.h\"\nconst work_job weir_jobs[] = {{{}}};\n", names.join(", "));
        let source = folder.join("jobs.c");
        io(&source, fs::write(&source, text))?;
        let object = folder.join("jobs.o");
        self.compile(compiler, &source, &object)?;
        Ok(object)
    }

    /// Runs the compiler where the user's file lies, so that its messages name the file as the user knows it.
    fn compile(&self, compiler: &[String], file: &Path, object: &Path) -> Result<(), BuildError> {
        let parent = file.parent().unwrap_or(Path::new("."));
        let name = file.file_name().unwrap_or_default();
        let mut gcc = Command::new(&compiler[0]);
        gcc.args(&compiler[1..]).current_dir(parent);
        gcc.arg(format!("-ffile-prefix-map={}=user", parent.display()));
        gcc.arg("-c").arg(name).arg("-o").arg(object);
        let output = run(&mut gcc, "compiling")?;
        let words = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(BuildError::Source(format!("{} does not compile:\n{}", file.display(), words.trim_end())));
        }
        if !words.trim().is_empty() {
            eprintln!("{}", words.trim_end());
        }
        Ok(())
    }
}

/// What the user's file calls and nobody has, in plain words.
fn link_error(output: &Output) -> Option<BuildError> {
    let words = String::from_utf8_lossy(&output.stderr);
    let missing: BTreeSet<&str> =
        words.lines().filter_map(|line| line.split_once("undefined reference to `")?.1.split('\'').next()).collect();
    // picolibc's printf, malloc and abort end in these.
    let library = ["stdout", "stdin", "stderr", "sbrk", "__heap_start", "__heap_end", "_exit", "write", "kill"];
    let (library, own): (Vec<&str>, Vec<&str>) = missing.into_iter().partition(|name| library.contains(name));
    let mut text = Vec::new();
    if !own.is_empty() {
        text.push(format!("undefined: {}; a task's C file must bring what it calls", own.join(", ")));
    }
    if !library.is_empty() {
        text.push("the device has no console, no C heap and no exit: instead of printf, malloc and abort there are FreeRTOS's pvPortMalloc and configASSERT".to_string());
    }
    (!text.is_empty()).then(|| BuildError::Source(format!("the tasks' C files do not link: {}", text.join("; "))))
}

/// The user's object must define the function that the task calls.
fn require_job(file: &Path, object: &Path, task: &str) -> Result<(), BuildError> {
    let bytes = io(object, fs::read(object))?;
    let parsed = object::File::parse(&*bytes).map_err(|error| BuildError::Failed(error.to_string()))?;
    let job = format!("{task}_job");
    let defined = parsed.symbols().any(|s| s.is_definition() && s.is_global() && s.name() == Ok(&job));
    if defined {
        return Ok(());
    }
    Err(BuildError::Source(format!(
        "{} has no function for task `{task}`; it needs `void {job}(void)`, not static",
        file.display()
    )))
}
