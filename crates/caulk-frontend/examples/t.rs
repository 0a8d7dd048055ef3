use std::path::PathBuf;
fn main() {
    let file = PathBuf::from(std::env::args().nth(1).unwrap());
    let flags: Vec<String> = vec!["-fbracket-depth=4000".into()];
    let list = caulk_capture::jobs_from_sources(&[file], &flags, &std::env::current_dir().unwrap());
    let config = caulk_frontend::Config { clang: caulk_frontend::Clang::find(None).unwrap(), cache: None, threads: 1 };
    for r in caulk_frontend::read_units(&list.jobs, &config, &|_| {}).unwrap() {
        match r { Ok(u) => println!("{}", u.unit.unpack().functions.values().filter_map(|f| f.body.as_ref()).map(|b| b.insts.len()).sum::<usize>()), Err(e) => println!("{e:?}") }
    }
}
