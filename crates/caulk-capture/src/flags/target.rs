//! Names of targets: `--target=`.

/// The longest name that is passed on; real ones have about 30 characters.
const MAX_LENGTH: usize = 80;

/// Targets whose toolchains start programs of their own, such as `amdgpu-arch` to ask which processor is there.
const WITH_PROGRAMS: &[&str] = &["amdgcn", "r600", "nvptx", "spir", "dxil"];

/// Whether a target is a name and nothing else: `arm64-apple-macos13.0`, `thumbv7em-none-eabi`.
///
/// clang makes names of files from it, of configuration (`TARGET-clang.cfg`) and of programs (`TARGET-as`). With a slash
/// in it they would be files of the project.
pub(crate) fn is_plain_target(value: &str) -> bool {
    let is_plain = value.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
    let is_name = value.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    let has_programs = WITH_PROGRAMS.iter().any(|arch| value.to_ascii_lowercase().starts_with(arch));
    is_plain && is_name && value.len() <= MAX_LENGTH && !has_programs
}

#[cfg(test)]
mod tests {
    use super::is_plain_target;

    #[test]
    fn plain_targets() {
        for name in [
            "x86_64-pc-linux-gnu",
            "arm64-apple-macos13.0",
            "thumbv7em-none-eabi",
            "x86_64-pc-windows-msvc19.33.0",
            "wasm32-wasi",
            "i386",
        ] {
            assert!(is_plain_target(name), "{name}");
        }
    }

    #[test]
    fn anything_else() {
        let long = "x".repeat(200);
        for name in [
            "",
            "./x",
            "../x",
            "/x",
            ".x",
            "-x",
            "a/b",
            "a b",
            "a\\b",
            "x\u{e9}",
            "a,b",
            "a=b",
            "a\nb",
            "a@b",
            long.as_str(),
        ] {
            assert!(!is_plain_target(name), "{name}");
        }
        for name in ["amdgcn-amd-amdhsa", "nvptx64-nvidia-cuda", "NVPTX64", "spirv64", "dxil-pc-shadermodel6.3-library"]
        {
            assert!(!is_plain_target(name), "{name}");
        }
    }
}
