use super::super::{command_line, command_text, text};

fn line(words: &[&str]) -> String {
    command_line(None, words.iter().copied()).join(" ")
}

/// Programs with an option for a password that means something else elsewhere: as words of
/// an entry, as what a shell is told to run, and as what somebody writes into a text.
#[test]
fn programs_have_ways_of_their_own_to_take_a_password() {
    for (command, shown) in [
        (
            "sshpass -p hunter ssh -p 2222 me@host",
            "sshpass -p [redacted] ssh -p 2222 me@host",
        ),
        (
            "sshpass -phunter ssh me@host",
            "sshpass -p[redacted] ssh me@host",
        ),
        (
            "/usr/bin/sshpass -p 12345 scp a b",
            "/usr/bin/sshpass -p [redacted] scp a b",
        ),
        (
            "sshpass -e ssh -p 22 me@host",
            "sshpass -e ssh -p 22 me@host",
        ),
        (
            "mysql -u root -phunter shop",
            "mysql -u root -p[redacted] shop",
        ),
        ("mysqldump -p1234 shop", "mysqldump -p[redacted] shop"),
        // It asks for it; what stands apart is the database.
        ("mysql -p shop", "mysql -p shop"),
        (
            "mongosh -u me -p hunter host/db",
            "mongosh -u me -p [redacted] host/db",
        ),
        (
            "redis-cli -h host -a hunter PING",
            "redis-cli -h host -a [redacted] PING",
        ),
        (
            "ldapsearch -x -D cn=me -w hunter",
            "ldapsearch -x -D cn=me -w [redacted]",
        ),
        (
            "sqlcmd -S host -U sa -P hunter",
            "sqlcmd -S host -U sa -P [redacted]",
        ),
        ("unzip -P hunter a.zip", "unzip -P [redacted] a.zip"),
        ("7z x -phunter a.7z", "7z x -p[redacted] a.7z"),
        (
            "mosquitto_pub -u me -P hunter -t a",
            "mosquitto_pub -u me -P [redacted] -t a",
        ),
        (
            "snmpwalk -v3 -A hunter -X wander host",
            "snmpwalk -v3 -A [redacted] -X [redacted] host",
        ),
        (
            "openssl rsa -in a.pem -passin pass:hunter",
            "openssl rsa -in a.pem -passin [redacted]",
        ),
        (
            "openssl rsa -passin env:MINE -in a.pem",
            "openssl rsa -passin env:MINE -in a.pem",
        ),
        (
            "keytool -list -storepass hunter",
            "keytool -list -storepass [redacted]",
        ),
        (
            "docker login -u me -p hunter host",
            "docker login -u me -p [redacted] host",
        ),
        ("docker run -p 8080:80 image", "docker run -p 8080:80 image"),
        ("curl -u me:12345 host", "curl -u me:[redacted] host"),
        ("curl -ume:hunter host", "curl -ume:[redacted] host"),
        (
            "http -a me:hunter host/path",
            "http -a me:[redacted] host/path",
        ),
        (
            "smbclient -U me%hunter //host/share",
            "smbclient -U me%[redacted] //host/share",
        ),
        ("lftp -u me,hunter host", "lftp -u me,[redacted] host"),
        (
            "xfreerdp /v:host /p:hunter",
            "xfreerdp /v:host /p:[redacted]",
        ),
        (
            "psql postgres://me:hunter@host/db",
            "psql postgres://[redacted]@host/db",
        ),
        (
            "wget --http-password hunter host",
            "wget --http-password [redacted] host",
        ),
        (
            "gpg --passphrase hunter -d a",
            "gpg --passphrase [redacted] -d a",
        ),
        // Nothing of the kind.
        ("ssh -p 2222 me@host", "ssh -p 2222 me@host"),
        ("mkdir -p some/where", "mkdir -p some/where"),
        ("tar -a -cf a.tgz some", "tar -a -cf a.tgz some"),
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let of_entry = command_line(Some(words[0]), words[1..].iter().copied());
        let of_entry = format!("{} {}", words[0], of_entry.join(" "));
        assert_eq!(of_entry, shown, "as an entry has it");
        assert_eq!(line(&words), shown, "as words");
        assert_eq!(command_text(command), shown, "as a shell has it");
        assert_eq!(line(&["sh", "-c", command]), format!("sh -c {shown}"));
    }
    for (said, shown) in [
        (
            "I ran sshpass -p hunter ssh host; it failed",
            "I ran sshpass -p [redacted] ssh host; it failed",
        ),
        (
            "tried: mysql -phunter shop\nand mkdir -p here",
            "tried: mysql -p[redacted] shop\nand mkdir -p here",
        ),
        (
            "redis-cli -a hunter | mkdir -a some",
            "redis-cli -a [redacted] | mkdir -a some",
        ),
        (
            "SSHPASS=hunter12 sshpass -e ssh host",
            "SSHPASS=[redacted] sshpass -e ssh host",
        ),
        (
            "PGPASSWORD=hunter12 psql -h host",
            "PGPASSWORD=[redacted] psql -h host",
        ),
        (
            "MYSQL_PWD=hunter12 mysql shop",
            "MYSQL_PWD=[redacted] mysql shop",
        ),
        (
            "the compass: north; bypass=yes",
            "the compass: north; bypass=yes",
        ),
    ] {
        assert_eq!(text(said), shown);
    }
}

/// Keys of random bytes in base64 have slashes, as paths do.
#[test]
fn random_keys_with_slashes_are_hidden_and_paths_are_not() {
    for key in [
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY",
        "Qk/xT7+aLm2/RbVw9Pz/NcHd4Yf/GsJq8Ut/EoKi",
        "dGhpc0lz/QVJl+YWxseTMy/Qnl0ZXNPZktleXM0Mg",
    ] {
        let said = format!("the key is {key}, and that is it");
        assert_eq!(
            text(&said),
            "the key is [redacted], and that is it",
            "{key}"
        );
    }
    for path in [
        "crates/local/src/secret/program/tables01",
        "src/components/Header/HeaderTest0001.tsx",
        "com/example/service/UserAccountService12",
        "0123456789abcdef0123456789abcdef01234567",
    ] {
        let said = format!("see {path}");
        let is_sum = path.starts_with('0');
        assert_eq!(text(&said) == said, !is_sum, "{path}: {}", text(&said));
    }
}
